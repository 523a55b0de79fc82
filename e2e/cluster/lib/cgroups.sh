# The cluster's cgroups: /benchwright-cluster with `box` (the node's own processes) and `kubepods` (the pods) below it, in each
# hierarchy. They also serve to find the cluster's processes: a process stays in its cgroup when its parent ends.
# shellcheck shell=bash

cgroup_version() { if [[ $(stat -fc %T /sys/fs/cgroup) == cgroup2fs ]]; then echo 2; else echo 1; fi; }

# The mount points of the hierarchies that hold controllers.
cgroup_hierarchies() {
    if [[ $(cgroup_version) == 2 ]]; then echo /sys/fs/cgroup; else findmnt -rn -t cgroup -o TARGET | sort -u; fi
}

# The controllers at hand, on one line.
cgroup_controllers() {
    if [[ $(cgroup_version) == 2 ]]; then cat /sys/fs/cgroup/cgroup.controllers; else
        findmnt -rn -t cgroup -o OPTIONS | tr ',' '\n' | sort -u | paste -sd ' '
    fi
}

# The one hierarchy by which processes are found: on version 1 `pids`, where the kubelet and runc put every container too.
cgroup_of_processes() {
    if [[ $(cgroup_version) == 2 ]]; then echo "/sys/fs/cgroup/$CGROUP"; else
        echo "$(findmnt -rn -t cgroup -O pids -o TARGET | head -n 1)/$CGROUP"
    fi
}

make_cgroups() {
    local hierarchy
    [[ $(cgroup_version) == 1 ]] || enable_controllers
    for hierarchy in $(cgroup_hierarchies); do
        mkdir -p "$hierarchy/$CGROUP"
        # Version 1 starts a cpuset empty, and an empty one admits no process.
        if [[ -e $hierarchy/cpuset.cpus && -e $hierarchy/cgroup.clone_children ]]; then
            cat "$hierarchy/cpuset.cpus" >"$hierarchy/$CGROUP/cpuset.cpus"
            cat "$hierarchy/cpuset.mems" >"$hierarchy/$CGROUP/cpuset.mems"
        fi
    done
    mkdir -p "$(cgroup_of_processes)/box"
}

# Version 2: the kubelet needs the controllers switched on at the root; what was on before is noted, to be restored.
enable_controllers() {
    local controller
    cat /sys/fs/cgroup/cgroup.subtree_control >"$STATE/subtree_control"
    for controller in $(cgroup_controllers); do
        echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || true
    done
}

restore_controllers() {
    local controller before
    [[ -e $STATE/subtree_control ]] || return 0
    before=" $(cat "$STATE/subtree_control") "
    tr ' ' '\n' </sys/fs/cgroup/cgroup.subtree_control | while read -r controller; do
        [[ $before == *" $controller "* ]] || echo "-$controller" >/sys/fs/cgroup/cgroup.subtree_control || true
    done
}

# Removes the cgroups from the leaves up, from a hybrid machine's cgroup2 mount too: runc makes some there. The kernel lets go of an ended process a moment late, hence the passes.
remove_cgroups() {
    local hierarchy pass left
    for ((pass = 0; pass < 50; pass++)); do
        left=0
        for hierarchy in $(findmnt -rn -t cgroup,cgroup2 -o TARGET | sort -u); do
            [[ -d $hierarchy/$CGROUP ]] || continue
            find "$hierarchy/$CGROUP" -depth -type d -exec rmdir {} + 2>/dev/null || true
            [[ ! -d $hierarchy/$CGROUP ]] || left=1
        done
        ((left)) || return 0
        sleep 0.1
    done
    say "cgroups named $CGROUP could not be removed"
    return 1
}
