{{/* Labels of the operator's pod. The leader carries its label from the start, since there is one pod and no election yet. */}}
{{- define "braid.podLabels" -}}
{{- $own := dict "app" "mirrord-operator" "component" "operator" "app.kubernetes.io/component" "operator" "mirrord-operator-leader" "true" -}}
{{- if .Values.sa.azureClientId -}}{{- $_ := set $own "azure.workload.identity/use" "true" -}}{{- end -}}
{{- include "braid.labelsWith" (list . (merge $own .Values.operator.podLabels)) -}}
{{- end -}}

{{/* CPU and memory of requests or limits, those that are given. */}}
{{- define "braid.resources" -}}
{{- $given := dict -}}
{{- range $name := list "cpu" "memory" -}}
  {{- with index $ $name -}}{{- $_ := set $given $name (include "braid.text" .) -}}{{- end -}}
{{- end -}}
{{- toYaml $given -}}
{{- end -}}
