{{/* The settings of the operator's environment, by their variables. */}}
{{- define "braid.settings" -}}{{- .Files.Get "files/settings.yaml" -}}{{- end -}}

{{/* The values of settings that are set in this installation, by their variables, as JSON. A list is for the rules of its value. */}}
{{- define "braid.settingValues" -}}
{{- $set := dict -}}
{{- $absent := dict -}}
{{- if not (include "braid.isPrimary" .) -}}{{- $_ := set $absent "primary" true -}}{{- end -}}
{{- if not (include "braid.isCell" .) -}}{{- $_ := set $absent "cell" true -}}{{- end -}}
{{- if not (include "braid.hasDashboard" .) -}}{{- $_ := set $absent "dashboard" true -}}{{- end -}}
{{- if not (include "braid.isMember" .) -}}{{- $_ := set $absent "member" true -}}{{- end -}}
{{- if not (include "braid.isOutpost" .) -}}{{- $_ := set $absent "outpost" true -}}{{- end -}}
{{- range $name, $setting := include "braid.settings" . | fromYaml -}}
  {{- if and $setting.value (not (hasKey $absent ($setting.where | default ""))) -}}
    {{- $value := (include "braid.at" (list $ $setting.value) | fromJson).value -}}
    {{- $isUnset := and $setting.isUnsetBy0 (not $value) -}}
    {{- if eq $setting.form "truth" -}}{{- $_ := set $set $name (include "braid.bool" $value) -}}
    {{- else if and (kindIs "slice" $value) (hasKey $setting "separator") -}}{{- if $value -}}{{- $_ := set $set $name $value -}}{{- end -}}
    {{- else if not (or $isUnset (eq (include "braid.text" $value) "")) -}}{{- $_ := set $set $name $value -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- toJson $set -}}
{{- end -}}

{{/* Variables of the chart before those of the user; first those of the published chart's order. A list in YAML. */}}
{{- define "braid.builtInEnvironment" -}}
{{- $operator := .Values.operator -}}
- {name: AWS_ROLE_SESSION_NAME, value: mirrord-operator}
- {name: RUST_LOG, value: {{ include "braid.text" $operator.logLevel | quote }}}
{{- with $operator.otelLogLevel }}
- {name: OTLP_RUST_LOG, value: {{ include "braid.text" . | quote }}}
{{- end }}
- {name: OPERATOR_ADDR, value: {{ printf "[::]:%s" (include "braid.text" $operator.port) | quote }}}
- {name: OPERATOR_FALLBACK_ADDR, value: {{ printf "0.0.0.0:%s" (include "braid.text" $operator.port) | quote }}}
- {name: OPERATOR_POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
- {name: OPERATOR_POD_UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}
- {name: MIRRORD_OPERATOR_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
- {name: OPERATOR_SERVICE_NAME, value: mirrord-operator}
- {name: OPERATOR_TELEMETRY_ENABLED, value: {{ ternary "false" "true" (eq (include "braid.on" $operator.disableTelemetries) "true") | quote }}}
{{- with $operator.subscribeEventBufferSize }}
- {name: OPERATOR_EVENT_BUFFER_SIZE, value: {{ include "braid.text" . | quote }}}
{{- end }}
{{- /* The first one's is a setting. */}}
{{- range $queue := splitList " " (include "braid.queues" .) | rest }}
{{- $parts := splitList "=" $queue }}
- {name: OPERATOR_{{ last $parts }}_SPLITTING, value: {{ include "braid.bool" (index $operator (print (first $parts) "Splitting")) | quote }}}
{{- end }}
- {name: OPERATOR_TEMPORAL_PROXY_PORT, value: {{ include "braid.text" ($operator.temporalProxy.port | default 7233) | quote }}}
{{- range $engine := splitList " " (include "braid.engines" .) }}
- {name: OPERATOR_{{ upper $engine }}_BRANCHING, value: {{ include "braid.bool" (index $operator (print $engine "Branching")) | quote }}}
{{- end }}
- {name: OPERATOR_PREVIEW_ENV, value: {{ include "braid.bool" $operator.previewEnv | quote }}}
{{- with $operator.shareIngress.shareDomain }}
- {name: OPERATOR_SHARE_INGRESS_SHARE_DOMAIN, value: {{ include "braid.text" . | quote }}}
{{- end }}
{{- if include "braid.on" $operator.applicationPauseAutoSync }}
- {name: OPERATOR_APPLICATION_PAUSE_AUTO_SYNC, value: "true"}
{{- end }}
{{- if include "braid.on" $operator.suspendFluxControllers }}
- {name: OPERATOR_SUSPEND_FLUX_CONTROLLERS, value: "true"}
{{- end }}
{{- if include "braid.servesMetrics" . }}
- {name: OPERATOR_METRICS_ADDR, value: "[::]:9000"}
- {name: OPERATOR_METRICS_FALLBACK_ADDR, value: {{ printf "0.0.0.0:%s" (include "braid.metricsPort" .) | quote }}}
{{- end }}
- {name: OPERATOR_AGENT_CONFIG, value: /mirrord-config/agent-config.yaml}
{{- range $engine := splitList " " (include "braid.engines" .) }}
- {name: OPERATOR_{{ upper $engine }}_BRANCH_CONFIG, value: /mirrord-config/{{ $engine }}-branch-config.yaml}
{{- end }}
- {name: OPERATOR_PREVIEW_CONFIG, value: /mirrord-config/preview-config.yaml}
{{- if include "braid.hasTlsSecret" . }}
- {name: OPERATOR_TLS_CERT_PATH, value: /tls/tls.crt}
- {name: OPERATOR_TLS_KEY_PATH, value: /tls/tls.key}
{{- end }}
{{- if include "braid.keepsCertificate" . }}
- {name: OPERATOR_OWN_CERTIFICATE, value: "true"}
{{- end }}
{{- with .Values.agent.image }}
{{- if kindIs "map" . }}
- {name: MIRRORD_AGENT_IMAGE, value: {{ printf "%s:%s" (.registry | default "ghcr.io/metalbear-co/mirrord") (include "braid.text" .tag | default "3.250.0") | quote }}}
{{- else }}
- {name: MIRRORD_AGENT_IMAGE, value: {{ . | quote }}}
{{- end }}
{{- end }}
{{- with include "braid.agentPullSecrets" . }}
- {name: MIRRORD_AGENT_IMAGE_PULL_SECRETS, value: {{ . | quote }}}
{{- end }}
{{- with $operator.idleKafkaSplitTtlMillis }}
- {name: OPERATOR_KAFKA_SPLITTING_TTL, value: {{ include "braid.text" . | quote }}}
{{- end }}
{{- with $operator.kafkaSplittingTopicFormat }}
- {name: OPERATOR_KAFKA_SPLITTING_TOPIC_FORMAT, value: {{ include "braid.text" . | quote }}}
{{- end }}
{{- if not (include "braid.namesUsers" .) }}
- {name: OPERATOR_POD_USERS, value: "false"}
{{- end }}
{{- with $operator.jiraWebhookUrl }}
- {name: OPERATOR_JIRA_WEBHOOK_URL, value: {{ . | quote }}}
{{- end }}
{{- with $operator.clusterName }}
- {name: OPERATOR_CLUSTER_NAME, value: {{ include "braid.text" . | quote }}}
{{- end }}
- {name: OPERATOR_MUTATING_WEBHOOKS, value: "true"}
- {name: OPERATOR_IMAGE, value: {{ include "braid.image" . | quote }}}
- {name: OPERATOR_IMAGE_PULL_POLICY, value: {{ $operator.imagePullPolicy }}}
{{- with .Values.agent.extraEnv }}
- {name: OPERATOR_AGENT_EXTRA_ENV, value: {{ toJson . | quote }}}
{{- end }}
{{- if include "braid.isPrimary" . }}
- {name: MIRRORD_MULTICLUSTER_CONFIG, value: /mirrord-config/multicluster-config.yaml}
{{- if $operator.multiCluster.kubeconfigFileSecret }}
- {name: OPERATOR_KUBECONFIG_FILE, value: /kubeconfigs/file/config}
{{- end }}
{{- if $operator.multiCluster.kubeconfigDirectorySecret }}
- {name: OPERATOR_KUBECONFIG_DIRECTORY, value: /kubeconfigs/directory}
{{- end }}
{{- if $operator.multiCluster.accessProviders }}
- {name: OPERATOR_ACCESS_PROVIDERS, value: /mirrord-config/access-providers.yaml}
{{- end }}
{{- if $operator.multiCluster.clusters }}
- {name: MIRRORD_CLUSTERS_CONFIG, value: /mirrord-config/clusters-config.yaml}
{{- end }}
{{- end }}
{{- if and (include "braid.isOutpost" .) $operator.outbound.token }}
- {name: OPERATOR_OUTBOUND_TOKEN, valueFrom: {secretKeyRef: {name: mirrord-outbound-token, key: token}}}
{{- end }}
{{- with .Values.usage.postgres }}
{{- if and (include "braid.on" $.Values.dashboard.enabled) .secret }}
- {name: OPERATOR_USAGE_DATABASE_URL, valueFrom: {secretKeyRef: {name: {{ .secret | quote }}, key: {{ .key | quote }}}}}
{{- with .caKey }}
- {name: OPERATOR_USAGE_DATABASE_CA, valueFrom: {secretKeyRef: {name: {{ $.Values.usage.postgres.secret | quote }}, key: {{ . | quote }}}}}
{{- end }}
{{- end }}
{{- end }}
{{- if include "braid.hasDashboard" . }}
- {name: OPERATOR_DASHBOARD_OIDC_CLIENT_SECRET, valueFrom: {secretKeyRef: {name: {{ .Values.dashboard.oidc.secret | quote }}, key: clientSecret}}}
{{- end }}
{{- range $name, $value := include "braid.settingValues" . | fromJson }}
{{- $text := kindIs "slice" $value | ternary (join "," $value) (include "braid.text" $value) }}
- {name: {{ $name }}, value: {{ $text | quote }}}
{{- end }}
{{- end -}}

{{/*
All variables of the operator. A variable of the user takes the place of the chart's: the same name twice is refused by server-side apply. The
two addresses come last, so that they can use the user's variables.
*/}}
{{- define "braid.environment" -}}
{{- $extra := .Values.operator.extraEnv -}}
{{- $all := list -}}
{{- range include "braid.builtInEnvironment" . | fromYamlArray -}}
  {{- if kindIs "invalid" (index $extra .name) -}}{{- $all = append $all . -}}{{- end -}}
{{- end -}}
{{- range $name, $value := $extra -}}
  {{- if kindIs "map" $value -}}{{- $all = append $all (merge (dict "name" $name) $value) -}}
  {{- else if not (kindIs "invalid" $value) -}}{{- $all = append $all (dict "name" $name "value" (include "braid.text" $value)) -}}
  {{- end -}}
{{- end -}}
{{- range $name, $value := dict "OTLP_LOGS_URL" .Values.operator.otelLogExportUrl "OTLP_TRACES_URL" .Values.operator.otelTraceExportUrl -}}
  {{- if and $value (kindIs "invalid" (index $extra $name)) -}}{{- $all = append $all (dict "name" $name "value" $value) -}}{{- end -}}
{{- end -}}
{{- toYaml $all -}}
{{- end -}}
