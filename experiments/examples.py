"""Examples of each verb, which `--help` prints before its keys: words, and a description."""

EXAMPLES = {
    "simulate": {
        "topology=dragonfly_72 routing=par traffic=adversarial traffic.load=0.3": "one run",
        "-m routing=par,ugal_l traffic.load=0.1,0.2,0.3 seed=1,2,3 study=first": "a sweep, with a figure and a report",
        "topology=dragonfly_342 routing=par workload=pair workload.scale=0.01": "two jobs beside each other",
        "routing=par traffic.load=0.3 run=steady": "until the intervals are narrow",
    },
    "saturate": {
        "topology=dragonfly_72 routing=par traffic=adversarial seed=1": "one search",
        "topology=hyperx_64 routing=dim_war,omni_war,ugal traffic=uniform,urb_y": "three routings under two patterns",
        "routing=par,results/mine/policy.safetensors precision=0.05": "a trained policy, with a coarser search",
    },
    "route": {
        "topology=fat_tree_64 engine=ftree": "one forwarding table and its quality",
        "-m topology=fat_tree_64 engine=ftree,dfsssp,lash": "three engines",
    },
    "trace": {
        "info app.goal": "ranks, operations, bytes and the time on an ideal network",
        "convert app.bin app.goal": "a GOAL schedule as text",
        "packet packet=0@20us routing=ugal_l traffic=adversarial": "the life of a packet, with its decisions",
    },
    "convert": {
        "net.graphml": "an edge list net.csv of switches",
        "net.json hosts='gpu*,node*'": "nodes with these names are hosts",
        "my.yaml": "the checks and the keys of a machine",
    },
    "train": {
        "topology=dragonfly_72 traffic=adversarial study=mine": "DQN on one network and pattern",
        "agent=dqn worlds=universal": "on many networks",
        "-m seed=1,2,3 study=three": "three trainings",
    },
    "evaluate": {
        "routing=par,ugal_l traffic=uniform,adversarial": "two routings under two patterns",
        "routing=minimal,results/mine/policy.safetensors traffic.load=0.1,0.3": "a trained policy",
        "'routing=[par,{name: eager, routing: par, params: {threshold: 0.5}}]'": "one routing with two settings",
        "measure=regret study=regret routing=par,ugal_l traffic=uniform run=auto": "decisions in hindsight",
    },
    "benchmark": {
        "suite=quick": "the recorded scores, without a run",
        "suite=quick routing=results/mine/policy.safetensors": "scores of a trained policy",
        "suite=quick routing=par 'tasks=[\"dragonfly_72/*\"]'": "some tasks",
    },
    "record": {
        "routing=q_adaptive topology=dragonfly_72": "decisions as transitions.parquet",
        "routing=dqn topology=dragonfly_72 traffic=adversarial traffic.load=0.3": "the observation of a policy",
        "routing=ugal_l topology=dragonfly_72 seed=2 record.overwrite=true": "replace another record",
    },
    "plot": {
        "results/first": "the figure and the report of a sweep again",
        "results/first y=p99": "the 99th percentile of the latency",
        "results/first y=hops style=one_column out=hops.pdf": "for a paper",
        "results/first --help": "the columns of this study",
    },
    "compare": {
        "results/first by=routing": "the routings of one study, on the same seeds and placements",
        "results/before results/after": "two studies",
        "results/before results/after out=change.tex": "as LaTeX; .md and .csv work, too",
    },
    "draw": {
        "topology=dragonfly_72": "a picture of a network",
        "topology=hyperx_64 failures.links=0.05 out=broken.svg": "its failed links",
        "result=results/see/dragonfly_ugal color=stalls time=30us": "the stalls of a run's links",
    },
    "report": {
        "results/first": "a page of all runs of a study",
        "results/first --output first.html": "into another file",
        "results": "of all studies",
    },
    "export": {
        "results/first": "all runs of a study as rows.parquet",
        "results out=all.csv": "all runs below a folder as CSV",
        "study=first format=latex columns=latency,p99": "a table for a paper, with intervals and the best in bold",
        "study=first 'filter=load<0.4,routing!=minimal' out=some.csv": "some runs",
        "study=first format=artifact": "a folder that repeats the study and compares the numbers",
    },
    "reproduce": {
        "figure=first_look": "a small figure in minutes",
        "figure=hpdc21_load_latency preset=quick": "a published figure",
        "study=interference preset=one_placement": "a study, with several figures",
        "figure=first_look redraw=true": "only draw the rows again",
    },
    "list": {
        "": "the groups and their choices",
        "topology": "the choices of a group",
        "seed": "the random choices that have a seed of their own",
        "cost routing=par,dqn topology=dragonfly_72": "the hardware cost of routings",
    },
}


def examples_of(verb: str) -> str:
    """The examples of a verb as text."""
    lines = [
        line for words, text in EXAMPLES[verb].items() for line in (f"  # {text}", f"  flitgym {verb} {words}".rstrip())
    ]
    return "\n".join(lines)
