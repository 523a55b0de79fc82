# Names, addresses and paths of the cluster, and the few helpers that every other file uses.
# shellcheck shell=bash disable=SC2034  # the variables are used by the other files

CLUSTER_SOURCE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
CLUSTER_DIR=${BENCHWRIGHT_CLUSTER_DIR:-$(cd -- "$CLUSTER_SOURCE/../.." && pwd -P)/.cluster}
CLUSTER_DIR=$(realpath -m -- "$CLUSTER_DIR")

PARTS=$CLUSTER_DIR/parts             # what `build` makes; outlives every cluster
STATE=$CLUSTER_DIR/state             # what one cluster writes; `down` removes it
KUBECONFIG_FILE=$CLUSTER_DIR/kubeconfig

# The address plan: all of it lies in 198.18.0.0/15, which RFC 2544 sets aside for benchmarks.
RANGE=198.18.0.0/15
POD_RANGE=198.18.0.0/17
SERVICE_RANGE=198.19.0.0/16
API_SERVICE=198.19.0.1
DNS_SERVICE=198.19.0.10
HOST_ADDRESS=198.18.254.1
NODE_ADDRESS=198.18.254.2
LINK_PREFIX=30
API_SERVER=https://$NODE_ADDRESS:6443

# Names by which a cluster is found when nothing else is known of it.
HOST_LINK=bwc-host
NODE_LINK=bwc-node
CGROUP=benchwright-cluster
NODE_NAME=benchwright-node

say() { printf 'cluster: %s\n' "$*" >&2; }

die() {
    say "$*"
    exit 1
}

need_root() { [[ $(id -u) == 0 ]] || die "needs root (namespaces, mounts, cgroups); this is user $(id -un)"; }

# The folder has a .gitignore of its own, so that it may be in any repository.
make_cluster_dir() {
    mkdir -p "$CLUSTER_DIR"
    [[ -e $CLUSTER_DIR/.gitignore ]] || echo '*' >"$CLUSTER_DIR/.gitignore"
}

# Creates a temporary folder and prints its name. The name holds our process id: once this process has ended, `down` may remove it.
scratch_folder() {
    make_cluster_dir
    mktemp -d "$CLUSTER_DIR/tmp.$$.XXXXXX"
}

# Takes a lock until this process ends, by a descriptor on a folder that exists anyway, so that no file is left.
# Children inherit the lock unless they close the descriptor named by LOCK_FD. Seconds are the longest wait.
lock() { # FOLDER SECONDS
    exec {LOCK_FD}<"$1"
    flock --wait "$2" "$LOCK_FD" || die "another cluster command has held the lock on $1 for $2 s; wait for it or end it"
}

unlock() { exec {LOCK_FD}<&-; }

# kubectl as the administrator, without a cache in the caller's home, and with a short time limit: callers repeat it.
kubectl_admin() {
    KUBECACHEDIR=$STATE/kubectl-cache "$PARTS/bin/kubectl" --kubeconfig "$KUBECONFIG_FILE" --request-timeout=20s "$@"
}

# Repeats a command until it succeeds. Fails after SECONDS, or at once when a component of the node has ended.
wait_for() { # SECONDS WHAT COMMAND...
    local seconds=$1 what=$2 end
    end=$((SECONDS + seconds))
    shift 2
    until "$@" >/dev/null 2>&1; do
        [[ -z $(ended_components) ]] || die "$(ended_components) ended while waiting for $what"
        ((SECONDS < end)) || die "no $what within $seconds s"
        sleep 0.1
    done
}
