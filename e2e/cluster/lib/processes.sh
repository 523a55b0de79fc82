# The processes of the cluster. They are found by their cgroup alone, so that no record is needed.
# shellcheck shell=bash

# Prints the process ids of the node and of all pods, one a line.
cluster_processes() {
    local root
    root=$(cgroup_of_processes)
    [[ -d $root ]] || return 0
    { find "$root" -name cgroup.procs -exec cat {} + 2>/dev/null || true; } | grep -vx 0 | sort -nu || true
}

# Prints the id of the box's first process; fails where there is none. It is process 1 of a pid namespace one level down.
box_init() {
    local pid
    [[ -e $(cgroup_of_processes)/box/cgroup.procs ]] || return 1
    while read -r pid; do
        if awk '/^NSpid:/ { found = (NF == 3 && $3 == 1) } END { exit !found }' "/proc/$pid/status" 2>/dev/null; then
            echo "$pid"
            return
        fi
    done <"$(cgroup_of_processes)/box/cgroup.procs"
    return 1
}

# Prints the CLUSTER_DIR of the cluster that runs on this machine; nothing if none runs.
box_owner() {
    local pid owner
    [[ -e $(cgroup_of_processes)/box/cgroup.procs ]] || return 0
    while read -r pid; do
        owner=$( (tr '\0' '\n' <"/proc/$pid/environ" | sed -n 's/^BENCHWRIGHT_CLUSTER_OWNER=//p') 2>/dev/null) || continue
        [[ -n $owner ]] || continue
        echo "$owner"
        return
    done <"$(cgroup_of_processes)/box/cgroup.procs"
}

# The first process of this folder's own cluster.
own_box_init() {
    [[ $(box_owner) == "$CLUSTER_DIR" ]] && box_init
}

# A machine can have only one cluster, because its addresses and names are fixed. A running cluster of another checkout is kept.
refuse_foreign_cluster() {
    local owner
    owner=$(box_owner)
    [[ -z $owner || $owner == "$CLUSTER_DIR" ]] ||
        die "the cluster on this machine belongs to $owner; end it with: BENCHWRIGHT_CLUSTER_DIR=${owner@Q} $CLUSTER_SOURCE/cluster down"
}

# Kills every process of the cluster and returns once they are gone.
kill_cluster() {
    local try pids
    for ((try = 0; try < 100; try++)); do
        pids=$(cluster_processes)
        [[ -n $pids ]] || return 0
        # shellcheck disable=SC2086  # one process id a word
        kill -KILL $pids 2>/dev/null || true
        sleep 0.05
    done
    say "these processes do not end: $pids"
    return 1
}

# Runs a command among the node's processes: its mounts, process ids and network.
in_box() { # INIT_PID COMMAND...
    nsenter --target "$1" --mount --pid --net --ipc --uts -- "${@:2}"
}
