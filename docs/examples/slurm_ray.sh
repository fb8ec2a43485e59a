#!/bin/bash
# One Ray cluster over all nodes of a Slurm job, and a training on it: sbatch docs/examples/slurm_ray.sh
# The nodes share the home folder (Ray's token lies there) and this one (the results do).
#SBATCH --nodes=4 --ntasks-per-node=1 --cpus-per-task=32 --time=08:00:00
set -euo pipefail

# Who joins the cluster shows a token, since whoever joins can run code on it. Made once, in ~/.ray/auth_token.
export RAY_AUTH_MODE=token
ray get-auth-token --generate > /dev/null

head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed -n 1p)  # reads to the end: head would break the pipe
port=${PORT:-6379}

# The steps hold their nodes until the job ends, and end with it.
srun --nodes=1 --ntasks=1 -w "$head" \
    ray start --head --port="$port" --num-cpus="$SLURM_CPUS_PER_TASK" --block &
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT

# Until the head answers, for two minutes at most; whoever comes to a head that is not there yet gives up.
for _ in {1..60}; do
    timeout 20 ray status --address "$head:$port" > /dev/null 2>&1 && break
    sleep 2
done
if [ "$SLURM_NNODES" -gt 1 ]; then
    srun --nodes=$((SLURM_NNODES - 1)) --ntasks=$((SLURM_NNODES - 1)) --exclude="$head" \
        ray start --address="$head:$port" --num-cpus="$SLURM_CPUS_PER_TASK" --block &
fi
for _ in {1..60}; do
    [ "$(timeout 20 ray status --address "$head:$port" 2> /dev/null | grep -c ' node_')" -ge "$SLURM_NNODES" ] && break
    sleep 2
done

# Words behind the script's name take the place of these: sbatch docs/examples/slurm_ray.sh agent=rllib_dqn rounds=100
if [ $# -eq 0 ]; then
    set -- agent=rllib_ppo "agent.env_runners=$((SLURM_NNODES * SLURM_CPUS_PER_TASK - 2))"
fi
flitgym-train "$@" "agent.address=$head:$port"
