{{/* The files of the operator, as the data of their ConfigMap. */}}
{{- define "braid.configuration" -}}
{{- $operator := .Values.operator -}}
agent-config.yaml: | {{- include "braid.agentConfiguration" . | nindent 2 }}
preview-config.yaml: | {{- toYaml $operator.preview | nindent 2 }}
{{- range $engine := splitList " " (include "braid.engines" .) }}
{{- $config := index $operator (print $engine "BranchConfig") }}
{{- if and $config (include "braid.on" (index $operator (print $engine "Branching"))) }}
{{ $engine }}-branch-config.yaml: | {{- toYaml $config | nindent 2 }}
{{- else }}
{{ $engine }}-branch-config.yaml: ""
{{- end }}
{{- end }}
{{- with include "braid.unusedValues" . | fromYamlArray }}
unused-values.txt: {{ join "\n" . | toJson }}
{{- end }}
{{- if include "braid.isPrimary" . }}
multicluster-config.yaml: | {{- include "braid.multiClusterConfiguration" . | nindent 2 }}
{{- if $operator.multiCluster.clusters }}
clusters-config.yaml: | {{- include "braid.clustersConfiguration" . | nindent 2 }}
{{- end }}
{{- with $operator.multiCluster.accessProviders }}
access-providers.yaml: | {{- dict "providers" . | toYaml | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The part of the files that the operator takes up only at its start: of the list of clusters, the default one. `braid doctor` alone reads
the unused values. */}}
{{- define "braid.configurationOfStart" -}}
{{- omit (include "braid.configuration" . | fromYaml) "clusters-config.yaml" "unused-values.txt" | toYaml }}
{{- if include "braid.isPrimary" . }}
{{- range $name, $found := .Values.operator.multiCluster.clusters }}
{{- if include "braid.on" ($found | default dict).isDefault }}
default: {{ $name }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "braid.agentConfiguration" -}}
{{- $agent := .Values.agent -}}
{{- $config := deepCopy $agent.extraConfig -}}
{{- with $agent.image -}}{{- $_ := set $config "image" . -}}{{- end -}}
{{- if not (hasKey $config "inject_headers") -}}
  {{- $_ := set $config "inject_headers" (eq (include "braid.bool" $agent.injectHeaders) "true") -}}
{{- end -}}
{{- if not (hasKey $config "priority_class") -}}
  {{- with include "braid.agentPriorityClass" . -}}{{- $_ := set $config "priority_class" . -}}{{- end -}}
{{- end -}}
{{- with .Values.operator.imagePullSecrets -}}{{- $_ := set $config "image_pull_secrets" . -}}{{- end -}}
{{- range $name, $shape := include "braid.agentFields" . | fromYaml -}}
  {{- $value := index $config $name -}}
  {{- if and (has $shape.kind (list "text" "name")) (not (kindIs "invalid" $value)) (not (include "braid.isStructure" $value)) -}}
    {{- $_ := set $config $name (include "braid.text" $value) -}}
  {{- end -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* What agent-config.yaml may hold, in YAML. */}}
{{- define "braid.agentFields" -}}{{- .Files.Get "files/agent-fields.yaml" -}}{{- end -}}

{{- define "braid.multiClusterConfiguration" -}}
{{- $multi := .Values.operator.multiCluster -}}
clusterName: {{ include "braid.quoted" (include "braid.clusterName" .) }}
defaultCluster: {{ include "braid.quoted" $multi.defaultCluster }}
managementOnly: {{ include "braid.bool" $multi.managementOnly }}
remoteSessionTimeoutSecs: {{ include "braid.seconds" (list $multi.remoteSessionTimeoutSecs 300) }}
sessionTtlSecs: {{ include "braid.seconds" (list $multi.sessionTtlSecs 60) }}
{{- with include "braid.text" $multi.sessionStart }}
sessionStart: {{ . }}
{{- end }}
{{- end -}}

{{- define "braid.clustersConfiguration" -}}
clusters:
{{- range $name, $found := .Values.operator.multiCluster.clusters }}
{{- $cluster := $found | default dict }}
  - name: {{ include "braid.quoted" $name }}
    {{- if ne (include "braid.text" $cluster.authType) "outbound" }}
    server: {{ include "braid.quoted" $cluster.server }}
    {{- end }}
    {{- with $cluster.namespace }}
    namespace: {{ include "braid.quoted" . }}
    {{- end }}
    {{- with $cluster.caData }}
    caData: {{ include "braid.quoted" . }}
    {{- end }}
    {{- if include "braid.on" $cluster.isDefault }}
    isDefault: true
    {{- end }}
    authType: {{ include "braid.quoted" $cluster.authType }}
    {{- range $field := list "region" "tenantId" "clientId" }}
    {{- with index $cluster $field }}
    {{ $field }}: {{ include "braid.quoted" . }}
    {{- end }}
    {{- end }}
{{- end }}
{{- end -}}
