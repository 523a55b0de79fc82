{{/* The image of operator and launcher. */}}
{{- define "benchwright.image" -}}
{{- $repository := required "image.repository is empty; name the repository that the image was pushed to, such as registry.example/benchwright" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{ $repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* The release as one number, so that a rule of the API server can compare two of them: 0.1.2 is 1002. */}}
{{- define "benchwright.schemaVersion" -}}
{{- $version := semver .Chart.AppVersion -}}
{{ add (mul $version.Major 1000000) (mul $version.Minor 1000) $version.Patch }}
{{- end -}}

{{/* The selector of the operator's pods. */}}
{{- define "benchwright.selector" -}}
app.kubernetes.io/name: benchwright
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{/* Labels of all objects of the chart. */}}
{{- define "benchwright.labels" -}}
app.kubernetes.io/name: benchwright
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/part-of: benchwright
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- /* Flux adds the revision to the version, after a plus sign, which no label may have. */}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{/* The name of the operator and of its objects: the release's name and "-operator". */}}
{{- define "benchwright.name" -}}
{{- if eq .Release.Name .Chart.Name -}}
benchwright-operator
{{- else -}}
{{ printf "%s-operator" .Release.Name | trunc 63 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{/* Security context of a pod that complies with Pod Security restricted. */}}
{{- define "benchwright.podSecurityContext" -}}
runAsNonRoot: true
{{- if ne .Values.launcher.podSecurity "OpenShift" }}
runAsUser: 65532
runAsGroup: 65532
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "benchwright.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Annotations of objects of the cluster: the release, and the namespaces that its operator watches; none: all. */}}
{{- define "benchwright.watches" -}}
benchwright.dev/release: {{ printf "%s/%s" .Release.Namespace .Release.Name }}
benchwright.dev/watch-namespaces: {{ join "," .Values.watchNamespaces | quote }}
{{- end -}}

{{/* A regular expression for the names that one of some patterns matches, as operator/policy/src/pattern.rs does. */}}
{{- define "benchwright.anyOf" -}}
{{- $all := list }}
{{- range . }}
{{- $all = append $all (regexQuoteMeta . | replace "\\*" ".*") }}
{{- end }}
{{- /* Without patterns, use [^\s\S], which matches no character. */}}
{{- printf "^(?s:%s)$" ($all | join "|" | default "[^\\s\\S]") }}
{{- end -}}

{{/* CEL: whether the user is an operator, of this release or of another one. The API group has no objects. The chart's
role names it, and roles with all rights on all API groups include it. */}}
{{- define "benchwright.isOperator" -}}
authorizer.group('operator.benchwright.dev').resource('benchmarkruns').namespace(request.namespace).check(request.operation.lowerAscii()).allowed()
{{- end -}}

{{/* Whether the operator starts runs of sweeps. Values that `--reuse-values` keeps of an older release lack the key. */}}
{{- define "benchwright.sweeps" -}}
{{- if dig "enabled" true (.Values.sweeps | default dict) }}true{{ end }}
{{- end -}}

{{/* The operator's rights in a namespace; docs/operator.md lists them. */}}
{{- define "benchwright.rules" -}}
- apiGroups: [operator.benchwright.dev]
  resources: [benchmarkruns]
  verbs: [create, update]
- apiGroups: [benchwright.dev]
  resources: [benchmarkruns]
  verbs: [get, list, watch, patch, delete]
- apiGroups: [benchwright.dev]
  resources: [benchmarkruns/status]
  verbs: [patch]
{{- if or .Values.schedules.enabled (include "benchwright.sweeps" .) }}
- apiGroups: [benchwright.dev]
  resources: [benchmarkruns]
  verbs: [create]
{{- end }}
{{- if .Values.schedules.enabled }}
- apiGroups: [benchwright.dev]
  resources: [benchmarkschedules]
  verbs: [get, list, watch, patch]
- apiGroups: [benchwright.dev]
  resources: [benchmarkschedules/status]
  verbs: [patch]
{{- end }}
{{- if include "benchwright.sweeps" . }}
- apiGroups: [benchwright.dev]
  resources: [benchmarksweeps]
  verbs: [get, list, watch]
- apiGroups: [benchwright.dev]
  resources: [benchmarksweeps/status]
  verbs: [patch]
{{- end }}
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch, delete]
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, create, delete]
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [get, create]
- apiGroups: [""]
  resources: [services]
  verbs: [get, list]
{{- if .Values.launcher.networkPolicy.enabled }}
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, create, delete]
{{- end }}
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- if .Values.gatewayAPI }}
- apiGroups: [gateway.networking.k8s.io]
  resources: [gateways]
  verbs: [get]
- apiGroups: [gateway.networking.k8s.io]
  resources: [httproutes, referencegrants]
  verbs: [list]
- apiGroups: [inference.networking.k8s.io]
  resources: [inferencepools]
  verbs: [get]
{{- end }}
{{- if .Values.kueue }}
- apiGroups: [kueue.x-k8s.io]
  resources: [localqueues]
  verbs: [get]
- apiGroups: [kueue.x-k8s.io]
  resources: [workloads]
  verbs: [list]
{{- end }}
{{- end -}}
