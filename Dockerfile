# An image with the command: docker build -t flitgym . && docker run --rm -v "$PWD/results:/results" flitgym simulate
FROM python:3.13-slim-trixie AS tools
RUN apt-get update && apt-get install -y --no-install-recommends cmake g++ git make && rm -rf /var/lib/apt/lists/*

FROM tools AS build
COPY . /flitgym
RUN make -C /flitgym wheel

FROM python:3.13-slim-trixie
COPY --from=build /flitgym/dist /flitgym/constraints.txt /tmp/
RUN pip install --no-cache-dir -c /tmp/constraints.txt /tmp/*.whl && rm /tmp/*.whl
ENTRYPOINT ["flitgym"]
