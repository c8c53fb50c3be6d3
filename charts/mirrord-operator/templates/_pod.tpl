{{/* Labels of the operator's pods. The operator itself puts the leader's label on its pod, and takes it off the others. */}}
{{- define "braid.podLabels" -}}
{{- $own := dict "app" "mirrord-operator" "component" "operator" "app.kubernetes.io/component" "operator" -}}
{{- if .Values.sa.azureClientId -}}{{- $_ := set $own "azure.workload.identity/use" "true" -}}{{- end -}}
{{- include "braid.labelsWith" (list . (merge $own (omit .Values.operator.podLabels "mirrord-operator-leader"))) -}}
{{- end -}}

{{/* CPU and memory of requests or limits, those that are given. */}}
{{- define "braid.resources" -}}
{{- $given := dict -}}
{{- range $name := list "cpu" "memory" -}}
  {{- with index $ $name -}}{{- $_ := set $given $name (include "braid.text" .) -}}{{- end -}}
{{- end -}}
{{- toYaml $given -}}
{{- end -}}
