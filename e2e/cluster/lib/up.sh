# Starts the cluster.
# shellcheck shell=bash

up() {
    local reason start
    reason=$(can) || die "this machine cannot hold the cluster: $reason"
    install_packages
    build_parts "${DEFAULT_PARTS[@]}"
    build_images "${BASE_IMAGES[@]}"
    lock /run 300
    refuse_foreign_cluster
    if healthy; then
        say "already up"
        how_to_use
        return
    fi
    start=$SECONDS
    # From here on a failure leaves something to remove.
    trap abandon EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    clean
    refuse_taken_range
    write_state
    start_box
    start_workloads
    trap - EXIT INT TERM HUP
    say "up after $((SECONDS - start)) s"
    how_to_use
}

# The exit trap of a start that did not complete.
abandon() {
    local status=$?
    trap - EXIT INT TERM HUP
    # 128 + signal means that the start was interrupted, not that it failed.
    ((status > 128)) || [[ ! -d $STATE ]] || show_logs
    clean
    exit "$status"
}

# Writes all files that the box reads, before it starts.
write_state() {
    local part
    mkdir -p "$STATE"/{log,cni,exited}
    make_pki
    for part in controller-manager scheduler proxy kubelet; do make_kubeconfig "$part" "$STATE/$part.kubeconfig"; done
    make_kubeconfig admin "$KUBECONFIG_FILE"
    cp -- "$CLUSTER_SOURCE/node/pods.conflist" "$STATE/cni/"
    make_cgroups
}

# Starts the box: it first enters the cluster's cgroup, then releases the lock and the caller's terminal, and keeps running.
start_box() {
    (
        echo "$BASHPID" >"$(cgroup_of_processes)/box/cgroup.procs"
        export BENCHWRIGHT_CLUSTER_DIR=$CLUSTER_DIR BENCHWRIGHT_CLUSTER_OWNER=$CLUSTER_DIR
        cd /
        exec {LOCK_FD}<&-
        exec setsid unshare --net --mount --pid --uts --ipc --fork --kill-child --mount-proc --propagation private \
            "$CLUSTER_SOURCE/node/init" >"$STATE/log/init" 2>&1 </dev/null
    ) &
    disown
    local try
    for ((try = 0; try < 200; try++)); do
        ! own_box_init >/dev/null || break
        sleep 0.02
    done
    connect_host "$(own_box_init)"
}

# The node's images, its DNS and its volumes. Slow steps continue in the node while the next step starts.
start_workloads() {
    local image tars=()
    for image in "${BASE_IMAGES[@]}"; do tars+=("$PARTS/images/$image.tar"); done
    wait_for 60 "containerd" in_box "$(own_box_init)" ctr --address /run/containerd/containerd.sock --connect-timeout 1s version
    load_images "${tars[@]}"
    wait_for 180 "API server" kubectl_admin get --raw /readyz
    kubectl_admin apply --filename "$CLUSTER_SOURCE/manifests" >/dev/null
    wait_for 180 "ready node" node_ready
    wait_for 180 "cluster DNS" deployment_available kube-system coredns
    wait_for 180 "volume provisioner" deployment_available local-path-storage local-path-provisioner
    wait_for 60 "answer of the DNS service" enter_network "${SERVICE_PROBE[@]}"
    wait_for 30 "default service account" kubectl_admin get serviceaccount default
}

node_ready() {
    [[ $(kubectl_admin get node "$NODE_NAME" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}') == True ]]
}

deployment_available() { # NAMESPACE NAME
    [[ $(kubectl_admin --namespace "$1" get deployment "$2" -o 'jsonpath={.status.availableReplicas}') == 1 ]]
}

# Succeeds if this folder's cluster is up and all its components run.
healthy() {
    own_box_init >/dev/null && [[ -z $(ended_components) ]] && [[ -e $KUBECONFIG_FILE ]] &&
        kubectl_admin get --raw /readyz >/dev/null 2>&1 && node_ready 2>/dev/null &&
        deployment_available kube-system coredns 2>/dev/null &&
        deployment_available local-path-storage local-path-provisioner 2>/dev/null
}

how_to_use() {
    printf 'export KUBECONFIG=%q\n' "$KUBECONFIG_FILE"
    printf 'export PATH=%q:%s # kubectl, helm\n' "$PARTS/bin" "\$PATH"
    echo "# $(report_routes)"
}
