# Can this machine hold the cluster? Each check prints one line and fails where the answer is no.
# shellcheck shell=bash

can() {
    [[ $(uname -s) == Linux ]] || { echo "needs Linux, this is $(uname -s)" && return 1; }
    [[ $(id -u) == 0 ]] || { echo "needs root, this is user $(id -un)" && return 1; }
    can_use_tools && can_build && can_use_cgroups && can_use_namespaces && can_use_overlay
}

can_use_tools() {
    local tool
    for tool in unshare nsenter setsid mount flock findmnt realpath sha256sum; do
        command -v "$tool" >/dev/null || { echo "needs the program $tool" && return 1; }
    done
    [[ -z $(missing_packages) ]] || command -v apt-get >/dev/null ||
        { echo "needs these Debian packages, and there is no apt-get: $(missing_packages)" && return 1; }
}

# Go is needed only until the parts are built.
can_build() {
    [[ -z $(stale_parts "${DEFAULT_PARTS[@]}") ]] || command -v go >/dev/null ||
        { echo "needs Go (1.25 or newer) on the PATH to build Kubernetes" && return 1; }
}

can_use_cgroups() {
    local controllers controller
    controllers=$(cgroup_controllers)
    for controller in cpu memory pids; do
        [[ " $controllers " == *" $controller "* ]] ||
            { echo "needs the cgroup controller $controller; found: ${controllers:-none}" && return 1; }
    done
    [[ -w $(cgroup_hierarchies | head -n 1) ]] || { echo "needs a writable /sys/fs/cgroup" && return 1; }
}

can_use_namespaces() {
    unshare --net --mount --pid --uts --ipc --fork --mount-proc --propagation private true 2>/dev/null ||
        { echo "needs the right to make network, mount, pid, uts and ipc namespaces (CAP_SYS_ADMIN)" && return 1; }
}

# containerd keeps its layers on overlayfs, which refuses some file systems (another overlay, for one) as upper folder.
can_use_overlay() {
    local folder
    folder=$(scratch_folder)
    mkdir "$folder"/{lower,upper,work,merged}
    if unshare --mount --propagation private mount -t overlay overlay \
        -o "lowerdir=$folder/lower,upperdir=$folder/upper,workdir=$folder/work" "$folder/merged" 2>/dev/null; then
        rm -rf -- "$folder"
    else
        rm -rf -- "$folder"
        echo "needs a file system that can hold overlayfs at $CLUSTER_DIR; set BENCHWRIGHT_CLUSTER_DIR to a folder on one" && return 1
    fi
}
