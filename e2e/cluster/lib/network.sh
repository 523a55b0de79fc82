# The one link between this machine and the node, and the routes through it to pods and services. The node's network namespace
# has no name: it belongs to the box's processes and ends with them, and the link ends with it.
# shellcheck shell=bash

refuse_taken_range() {
    local routes
    routes=$(ip -4 route show root "$RANGE")
    [[ -z $routes ]] || die "this machine already routes into $RANGE, which the cluster needs: ${routes//$'\n'/; }"
}

connect_host() { # INIT_PID
    ip link add "$HOST_LINK" type veth peer name "$NODE_LINK" netns "$1"
    ip address add "$HOST_ADDRESS/$LINK_PREFIX" dev "$HOST_LINK"
    ip link set "$HOST_LINK" up
    ip route add "$POD_RANGE" via "$NODE_ADDRESS" dev "$HOST_LINK"
    ip route add "$SERVICE_RANGE" via "$NODE_ADDRESS" dev "$HOST_LINK"
}

disconnect_host() {
    ip link show "$HOST_LINK" >/dev/null 2>&1 || return 0
    ip link delete "$HOST_LINK" 2>/dev/null || true
    ! ip link show "$HOST_LINK" >/dev/null 2>&1 || { say "the interface $HOST_LINK could not be removed" && return 1; }
}

# Connects to the DNS service, which leads to a pod: fails if services or pods cannot be reached.
SERVICE_PROBE=(timeout 2 bash -c "exec 3<>/dev/tcp/$DNS_SERVICE/53")

report_routes() {
    if "${SERVICE_PROBE[@]}" 2>/dev/null; then
        echo "pods ($POD_RANGE) and services ($SERVICE_RANGE) are reachable from this machine"
    else
        echo "pods and services are not reachable from this machine; use \`cluster exec\`"
    fi
}

# Runs a command in the network of pods and services, without the other namespaces of the node.
enter_network() { # COMMAND...
    local init
    need_root
    init=$(own_box_init) || die "no cluster of $CLUSTER_DIR is up; run \`cluster up\`"
    PATH=$PARTS/bin:$PATH nsenter --target "$init" --net -- "$@"
}
