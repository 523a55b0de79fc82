# Enforces NetworkPolicies: kube-router's firewall, and nothing else of it. It needs iptables, ipset and a kernel with both.
# shellcheck shell=bash

network_policy() {
    local init
    need_root
    init=$(own_box_init) || die "no cluster of $CLUSTER_DIR is up; run \`cluster up\`"
    command -v ipset >/dev/null || without_daemons apt_install ipset
    build_parts kube-router
    if in_box "$init" iptables -S KUBE-ROUTER-FORWARD >/dev/null 2>&1; then
        say "network policies are enforced already"
        return
    fi
    start_kube_router "$init"
    # The chain comes first, the rules of the pods that exist with the first synchronization.
    wait_for 60 "enforcement of network policies" in_box "$init" iptables -S KUBE-ROUTER-FORWARD
    say "network policies are enforced"
}

# In the cgroup of the box, so that `down` finds it, and in the namespaces of the node.
start_kube_router() { # INIT_PID
    (
        echo "$BASHPID" >"$(cgroup_of_processes)/box/cgroup.procs"
        cd /
        exec setsid nsenter --target "$1" --mount --pid --net --ipc --uts -- "$PARTS/bin/kube-router" \
            --kubeconfig "$KUBECONFIG_FILE" --hostname-override "$NODE_NAME" \
            --run-firewall=true --run-router=false --run-service-proxy=false --enable-cni=false \
            --service-cluster-ip-range "$SERVICE_RANGE" --health-port 0 --iptables-sync-period 10s \
            >"$STATE/log/kube-router" 2>&1 </dev/null
    ) &
    disown
}
