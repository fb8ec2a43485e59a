#!/bin/bash
# Starts a Ray cluster on all nodes of a Slurm job and trains there: sbatch docs/examples/slurm_ray.sh
# The nodes share the home folder, for Ray's token, and the working folder, for the results.
#SBATCH --nodes=4 --ntasks-per-node=1 --cpus-per-task=32 --time=08:00:00
set -euo pipefail

# A process needs a token to join, because it can then run code on all nodes. Ray creates ~/.ray/auth_token once.
export RAY_AUTH_MODE=token
ray get-auth-token --generate > /dev/null

head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed -n 1p)  # sed reads all lines; head would break the pipe
port=${PORT:-6379}

# With --block, the steps keep their nodes and end with the job.
srun --nodes=1 --ntasks=1 -w "$head" \
    ray start --head --port="$port" --num-cpus="$SLURM_CPUS_PER_TASK" --block &
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT

# Wait for the head for about two minutes, because a node gives up if the head does not answer.
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

# Arguments of the script replace these: sbatch docs/examples/slurm_ray.sh agent=rllib_dqn rounds=100
if [ $# -eq 0 ]; then
    set -- agent=rllib_ppo "agent.env_runners=$((SLURM_NNODES * SLURM_CPUS_PER_TASK - 2))"
fi
flitgym train "$@" "agent.address=$head:$port"
