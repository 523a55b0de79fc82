# What runs, for people and for scripts.
# shellcheck shell=bash

status() {
    local owner init ended
    need_root
    owner=$(box_owner)
    if [[ -z $owner ]]; then
        echo "no cluster is up on this machine"
        return 1
    elif [[ $owner != "$CLUSTER_DIR" ]]; then
        echo "the cluster on this machine belongs to $owner, not to $CLUSTER_DIR"
        return 1
    fi
    init=$(box_init) || init="starting or ending"
    echo "the node's first process: $init"
    echo "memory of the node and its pods: $(memory_in_use) MiB"
    if healthy; then
        kubectl_admin get nodes --output wide
        echo "healthy"
        how_to_use
    else
        ended=$(ended_components)
        echo "not healthy${ended:+: ended: $ended}; logs are in $STATE/log"
        return 1
    fi
}

# The proportional share of memory of all processes, so that shared pages count once.
memory_in_use() {
    local pid
    cluster_processes | while read -r pid; do cat "/proc/$pid/smaps_rollup" 2>/dev/null || true; done |
        awk '/^Pss:/ { sum += $2 } END { printf "%d", sum / 1024 }'
}
