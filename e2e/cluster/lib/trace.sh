# Lists what a cluster could leave on a machine, in a stable order and without counters, ids or times: a test takes it before and
# after and compares. Other programs hardly change the listing, because it holds only names that the node could use.
# shellcheck shell=bash

TRACED_PROCESSES='etcd|kube-.*|kubelet|kubectl|kubernetes|containerd.*|ctr|runc.*|pause|coredns|local-path.*|epp|envoy|init|unshare|buildah'
TRACED_CGROUPS='benchwright-cluster|kubepods|k8s\.io|containerd|runc|buildah'
TRACED_FOLDERS=(/run/containerd /run/netns /run/runc /run/containers /run/crio /run/xtables.lock /run/node
    /var/lib/kubelet /var/lib/cni /var/lib/containerd /var/lib/containers /var/lib/etcd /var/lib/buildkit
    /var/log/pods /var/log/containers /etc/cni /etc/kubernetes /opt/cni /opt/containerd /opt/local-path-provisioner
    /usr/libexec/kubernetes /var/run/kubernetes)
TRACED_SETTINGS=(vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops kernel.keys.root_maxkeys
    kernel.keys.root_maxbytes net.ipv4.ip_forward net.ipv6.conf.all.forwarding net.netfilter.nf_conntrack_max
    net.bridge.bridge-nf-call-iptables fs.inotify.max_user_instances)

trace() {
    need_root
    trace_processes
    trace_mounts
    trace_network
    trace_rules
    trace_cgroups
    trace_folders
    trace_settings
}

# Prefixes each line of the input.
label() { sed "s|^|$1 |"; }

# Without zombies that their parent, often a container's first process, has not waited for yet.
trace_processes() {
    ps -e -o stat= -o comm= | awk -v names="^($TRACED_PROCESSES)$" '$1 !~ /^Z/ && $2 ~ names { count[$2]++ }
        END { for (name in count) print name, count[name] }' | sort | label process
    cluster_processes | wc -l | label 'process in-cluster-cgroup'
}

trace_mounts() { findmnt -rn -o TARGET,FSTYPE,SOURCE | sort | label mount; }

trace_network() {
    # One interface a line, without its index, which rises.
    ip -o link | awk -F ': ' '{ sub(/@.*/, "", $2); print $2 }' | sort | label interface
    ip -o address | awk '{ print $2, $3, $4 }' | sort | label address
    { ip -4 route show table all && ip -6 route show table all; } | sed 's/ expires [^ ]*//' | sort | label route
    ip netns list | sort | label netns
}

# Both front ends to the kernel's packet rules, where they are installed.
trace_rules() {
    ! command -v nft >/dev/null || nft list ruleset | sed -E 's/packets [0-9]+ bytes [0-9]+//' | label nft
    if [[ -r /proc/net/ip_tables_names ]]; then sort /proc/net/ip_tables_names | label iptables-table; fi
}

trace_cgroups() {
    findmnt -rn -t cgroup,cgroup2 -o TARGET | sort -u | while read -r hierarchy; do
        find "$hierarchy" -mindepth 1 -type d -regextype posix-extended -regex ".*/($TRACED_CGROUPS)(/.*)?"
    done | sort | label cgroup
    if [[ -e /sys/fs/cgroup/cgroup.subtree_control ]]; then label subtree-control </sys/fs/cgroup/cgroup.subtree_control; fi
}

trace_folders() {
    local folder
    for folder in "${TRACED_FOLDERS[@]}" "$KUBECONFIG_FILE"; do
        [[ ! -e $folder ]] || echo "folder $folder"
    done
    find "$CLUSTER_DIR" -mindepth 1 -maxdepth 1 2>/dev/null | sort | label folder || true
}

trace_settings() {
    local setting
    for setting in "${TRACED_SETTINGS[@]}"; do
        sysctl --ignore "$setting" 2>/dev/null | label setting || true
    done
}
