{{- define "zonal.name" -}}
{{- if contains "zonal" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-zonal" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "zonal.selector" -}}
app.kubernetes.io/name: zonal
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "zonal.labels" -}}
{{ include "zonal.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* How zonal has to ask for the Secrets that it may read. */ -}}
{{- define "zonal.secretScope" -}}
{{- if .Values.secrets.clusterWide }}cluster{{ else if .Values.secrets.names }}name{{ else }}namespace{{ end }}
{{- end }}

{{- /* What the workers may keep of request bodies in files: 1 GiB each, and `auto` is four at most. */ -}}
{{- define "zonal.tmpSize" -}}
{{- $workers := ternary 4 (max 1 (atoi (toString .Values.workers))) (eq (toString .Values.workers) "auto") }}
{{- .Values.tmpSizeLimit | default (printf "%dGi" (int $workers)) }}
{{- end }}

{{- /*
Refuses a key of the settings that nobody knows, and names those that are like it: that share most words and letters
from the beginning.
*/ -}}
{{- define "zonal.checkSettings" -}}
{{- $known := splitList "\n" (.Files.Get "settings-keys.txt" | trim) }}
{{- range $key, $value := .Values.settings }}
{{- if not (has $key $known) }}
{{- $words := splitList "-" (kebabcase $key) }}
{{- $best := 0 }}
{{- $like := list }}
{{- range $each := $known }}
{{- $score := 0 }}
{{- range $words }}{{ if has . (splitList "-" $each) }}{{ $score = add $score 6 }}{{ end }}{{ end }}
{{- range $length := untilStep 1 (int (add 1 (len $key))) 1 }}
{{- if hasPrefix (trunc (int $length) (kebabcase $key)) $each }}{{ $score = add $score 1 }}{{ end }}
{{- end }}
{{- if gt (int $score) (int $best) }}{{ $best = $score }}{{ $like = list $each }}
{{- else if and (eq (int $score) (int $best)) (lt (len $like) 3) }}{{ $like = append $like $each }}{{ end }}
{{- end }}
{{- $hint := ternary (printf ": did you mean %s?" (join " or " $like)) ": docs/settings.md lists the keys" (gt (int $best) 5) }}
{{- fail (printf "settings.%s is no key%s" $key $hint) }}
{{- end }}
{{- end }}
{{- end }}

{{- /*
The replicas of a Deployment with an autoscaler: `present` is the Deployment in the cluster, empty if there is none, and
`least` the number that the autoscaler keeps to. Nobody has scaled it to 0 but to stop it, so it stays stopped.
*/ -}}
{{- define "zonal.scaledReplicas" -}}
{{- $now := int (dig "spec" "replicas" (int .least) (.present | default dict)) }}
{{- if $now }}{{ max $now (int .least) }}{{ else }}0{{ end }}
{{- end }}

{{- /*
One permission: a role and its binding to our ServiceAccount. Takes root, name, rules, and namespace; an empty namespace
makes it a ClusterRole.
*/ -}}
{{- define "zonal.grant" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ if .namespace }}Role{{ else }}ClusterRole{{ end }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . | quote }}
  {{- end }}
  labels:
    {{- include "zonal.labels" .root | nindent 4 }}
rules:
  {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ if .namespace }}RoleBinding{{ else }}ClusterRoleBinding{{ end }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . | quote }}
  {{- end }}
  labels:
    {{- include "zonal.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ if .namespace }}Role{{ else }}ClusterRole{{ end }}
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "zonal.name" .root }}
    namespace: {{ .root.Release.Namespace }}
{{ end }}
