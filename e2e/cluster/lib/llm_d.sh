# The llm-d data path: images and custom resources. Its manifests are in llm-d/, to be applied to any namespace.
# shellcheck shell=bash

llm_d_images() {
    local image tars=()
    need_root
    own_box_init >/dev/null || die "no cluster of $CLUSTER_DIR is up; run \`cluster up\`"
    build_parts "${LLM_D_PARTS[@]}"
    build_images "${LLM_D_IMAGES[@]}"
    for image in "${LLM_D_IMAGES[@]}"; do tars+=("$PARTS/images/$image.tar"); done
    load_images "${tars[@]}"
    kubectl_admin apply --server-side --filename "$PARTS/llm-d-crds" >&2
    wait_for 30 "InferencePool API" kubectl_admin get inferencepools.inference.networking.k8s.io --all-namespaces
}
