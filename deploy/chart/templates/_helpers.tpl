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

{{- /*
The ports of our Service that stand on numbers of gateway.ports, as JSON: client port to bound port. The last number is taken
first, and Gateways with Services of their own leave these numbers alone.
*/ -}}
{{- define "zonal.boundPorts" -}}
{{- $asked := keys .Values.tcpServices | sortAlpha }}
{{- if and .Values.gateway.enabled (eq .Values.gateway.addresses "shared") }}
{{- range .Values.gateway.sharedPorts }}
{{- $asked = append $asked (toString .) }}
{{- end }}
{{- end }}
{{- $ports := .Values.gateway.ports }}
{{- $found := dict }}
{{- range $number, $port := uniq $asked }}
{{- $bound := sub (int $ports.last) $number }}
{{- if lt (int $bound) (int $ports.first) }}
{{- fail "gateway.ports has too few numbers for tcpServices and gateway.sharedPorts" }}
{{- end }}
{{- $_ := set $found $port $bound }}
{{- end }}
{{- toJson $found }}
{{- end }}

{{- /*
Not empty: zonal has to know our own Service. The addresses of Ingresses are its own, the Services of Gateways select the pods
that it selects, and its ports say which port of tcpServices stands on which number.
*/ -}}
{{- define "zonal.publishesService" -}}
{{- $own := and .Values.gateway.enabled (ne .Values.gateway.addresses "shared") }}
{{- if and $own .Values.status.enabled .Values.status.fromNodes }}
{{- fail "status.fromNodes: Gateways with Services of their own need the Service of our pods; use gateway.addresses: shared" }}
{{- end }}
{{- if or $own (and .Values.status.enabled (not .Values.status.addresses) (not .Values.status.fromNodes)) }}true{{ end }}
{{- end }}

{{- /* The value of --gateway-ports; empty: none is bound. */ -}}
{{- define "zonal.gatewayPorts" -}}
{{- $range := and .Values.gateway.enabled (ne .Values.gateway.addresses "shared") }}
{{- if $range }}
{{- printf "%d-%d" (int .Values.gateway.ports.first) (int .Values.gateway.ports.last) }}
{{- else }}
{{- $pairs := list }}
{{- range $port, $bound := include "zonal.boundPorts" . | fromJson }}
{{- $pairs = append $pairs (printf "%s=%d" $port (int $bound)) }}
{{- end }}
{{- join "," $pairs }}
{{- end }}
{{- end }}

{{- /* A value of the settings as text. Helm reads whole numbers as floats, and would write 1000000 as 1e+06. */ -}}
{{- define "zonal.settingText" -}}
{{- $text := toString . }}
{{- if kindIs "float64" . }}{{ if eq . (floor .) }}{{ $text = printf "%.0f" . }}{{ end }}{{ end }}
{{- $text }}
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
