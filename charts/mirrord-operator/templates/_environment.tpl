{{/* The variable of each value below `bounds`, as JSON. */}}
{{- define "braid.boundVariables" -}}
{{- dict "connections" "OPERATOR_CONNECTIONS" "requestsPerUser" "OPERATOR_REQUESTS_PER_USER" "sessionsPerUser" "OPERATOR_SESSIONS_PER_USER" "sessions" "OPERATOR_SESSIONS" "connectionsPerSession" "OPERATOR_CONNECTIONS_PER_SESSION" "agentsPerUser" "OPERATOR_AGENTS_PER_USER" "agents" "OPERATOR_AGENTS" "branchesPerNamespace" "OPERATOR_BRANCHES_PER_NAMESPACE" "branches" "OPERATOR_BRANCHES" | toJson -}}
{{- end -}}

{{/* Variables of the chart, in the published order, before those of the user. A list in YAML. */}}
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
{{- with $operator.maxSessionTimeSeconds }}
- {name: OPERATOR_MAX_SESSION_TIME_SECONDS, value: {{ include "braid.text" . | quote }}}
{{- end }}
{{- with $operator.subscribeEventBufferSize }}
- {name: OPERATOR_EVENT_BUFFER_SIZE, value: {{ include "braid.text" . | quote }}}
{{- end }}
{{- range $queue := splitList " " (include "braid.queues" .) }}
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
{{- with $operator.dbBranching.initPodVolumeLimit }}
- {name: OPERATOR_BRANCH_DEFAULT_INIT_VOLUME_SIZE_LIMIT, value: {{ include "braid.text" . | quote }}}
{{- end }}
{{- with $operator.dbBranching.databasePodVolumeLimit }}
- {name: OPERATOR_BRANCH_DEFAULT_DB_VOLUME_SIZE_LIMIT, value: {{ include "braid.text" . | quote }}}
{{- end }}
{{- if include "braid.on" $operator.applicationPauseAutoSync }}
- {name: OPERATOR_APPLICATION_PAUSE_AUTO_SYNC, value: "true"}
{{- end }}
{{- if include "braid.on" $operator.suspendFluxControllers }}
- {name: OPERATOR_SUSPEND_FLUX_CONTROLLERS, value: "true"}
{{- end }}
- {name: OPERATOR_METRICS_ENABLED, value: {{ include "braid.bool" $operator.metrics | quote }}}
{{- if include "braid.servesMetrics" . }}
- {name: OPERATOR_METRICS_ADDR, value: "[::]:9000"}
- {name: OPERATOR_METRICS_FALLBACK_ADDR, value: {{ printf "0.0.0.0:%s" (include "braid.metricsPort" .) | quote }}}
{{- end }}
- {name: OPERATOR_JSON_LOG, value: {{ include "braid.bool" $operator.jsonLog | quote }}}
- {name: OPERATOR_REQUIRE_FRONT_PROXY_CLIENT_CERT, value: {{ include "braid.bool" $operator.requireFrontProxyClientCert | quote }}}
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
{{- if include "braid.on" .Values.agent.tls }}
- {name: OPERATOR_AGENT_CONNECTION_TLS, value: "true"}
{{- end }}
{{- with .Values.agent.port }}
- {name: OPERATOR_AGENT_PORT, value: {{ include "braid.text" . | quote }}}
{{- end }}
{{- with .Values.agent.image }}
{{- if kindIs "map" . }}
- {name: MIRRORD_AGENT_IMAGE, value: {{ printf "%s:%s" (.registry | default "ghcr.io/metalbear-co/mirrord") (include "braid.text" .tag | default "3.250.0") | quote }}}
{{- else }}
- {name: MIRRORD_AGENT_IMAGE, value: {{ . | quote }}}
{{- end }}
{{- end }}
{{- range $setting, $variable := dict "namespace" "MIRRORD_AGENT_NAMESPACE" "image_pull_policy" "MIRRORD_AGENT_IMAGE_PULL_POLICY" "log_level" "MIRRORD_AGENT_RUST_LOG" "service_account" "MIRRORD_AGENT_SERVICE_ACCOUNT" }}
{{- with index $.Values.agent.extraConfig $setting }}
- {name: {{ $variable }}, value: {{ include "braid.text" . | quote }}}
{{- end }}
{{- end }}
{{- with include "braid.agentPullSecrets" . }}
- {name: MIRRORD_AGENT_IMAGE_PULL_SECRETS, value: {{ . | quote }}}
{{- end }}
{{- range $setting, $variable := include "braid.boundVariables" . | fromJson }}
{{- with index $.Values.bounds $setting }}
- {name: {{ $variable }}, value: {{ include "braid.text" . | quote }}}
{{- end }}
{{- end }}
{{- with .Values.targets.allowedNamespaces }}
- {name: OPERATOR_ALLOWED_TARGET_NAMESPACES, value: {{ join "," . | quote }}}
{{- end }}
{{- with $operator.noPodTargetsSessionTimeoutMillis }}
- {name: OPERATOR_NO_POD_TARGETS_SESSION_TIMEOUT_MILLIS, value: {{ include "braid.text" . | quote }}}
{{- end }}
{{- with $operator.idleKafkaSplitTtlMillis }}
- {name: OPERATOR_KAFKA_SPLITTING_TTL, value: {{ include "braid.text" . | quote }}}
{{- end }}
{{- with $operator.kafkaSplittingTopicFormat }}
- {name: OPERATOR_KAFKA_SPLITTING_TOPIC_FORMAT, value: {{ include "braid.text" . | quote }}}
{{- end }}
- {name: OPERATOR_COPY_TARGET_ENABLED, value: {{ include "braid.bool" $operator.copyTarget.enabled | quote }}}
- {name: OPERATOR_COPY_TARGET_USE_AGENT_IMAGE, value: {{ include "braid.bool" $operator.copyTarget.useAgentImage | quote }}}
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
- {name: OPERATOR_ISOLATE_PODS_RESTART, value: {{ include "braid.bool" $operator.isolatePodsRestart | quote }}}
{{- if include "braid.on" $operator.injectSessionKeyHeader }}
- {name: OPERATOR_INJECT_SESSION_KEY_HEADER, value: "true"}
{{- end }}
{{- with $operator.sqsSplittingLingerTimeout }}
- {name: OPERATOR_SQS_SPLITTING_LINGER_TIMEOUT, value: {{ include "braid.text" . | quote }}}
{{- end }}
- {name: OPERATOR_QUEUE_SPLITTING_WAIT_FOR_READY_TARGET, value: {{ include "braid.bool" $operator.queueSplittingWaitForReadyTarget | quote }}}
- {name: OPERATOR_IMAGE, value: {{ include "braid.image" . | quote }}}
- {name: OPERATOR_IMAGE_PULL_POLICY, value: {{ $operator.imagePullPolicy }}}
{{- with .Values.agent.extraEnv }}
- {name: OPERATOR_AGENT_EXTRA_ENV, value: {{ toJson . | quote }}}
{{- end }}
{{- if include "braid.on" $operator.multiClusterMemberRequirePrimary }}
- {name: OPERATOR_MULTI_CLUSTER_REQUIRE_PRIMARY, value: "true"}
{{- end }}
{{- if include "braid.isPrimary" . }}
- {name: MIRRORD_MULTICLUSTER_CONFIG, value: /mirrord-config/multicluster-config.yaml}
{{- with $operator.multiCluster.providers }}
- {name: OPERATOR_MULTI_CLUSTER_PROVIDERS, value: {{ join "," . | quote }}}
{{- end }}
{{- with $operator.multiCluster.clusterApiNamespace }}
- {name: OPERATOR_CLUSTER_API_NAMESPACE, value: {{ . | quote }}}
{{- end }}
{{- if $operator.multiCluster.kubeconfigFileSecret }}
- {name: OPERATOR_KUBECONFIG_FILE, value: /kubeconfigs/file/config}
{{- end }}
{{- if $operator.multiCluster.kubeconfigDirectorySecret }}
- {name: OPERATOR_KUBECONFIG_DIRECTORY, value: /kubeconfigs/directory}
{{- end }}
{{- with $operator.multiCluster.clusterProfileNamespace }}
- {name: OPERATOR_CLUSTER_PROFILE_NAMESPACE, value: {{ . | quote }}}
{{- end }}
{{- if $operator.multiCluster.accessProviders }}
- {name: OPERATOR_ACCESS_PROVIDERS, value: /mirrord-config/access-providers.yaml}
{{- end }}
{{- if include "braid.on" $operator.multiCluster.sharding }}
- {name: OPERATOR_MULTI_CLUSTER_SHARDING, value: "true"}
{{- end }}
{{- if $operator.multiCluster.clusters }}
- {name: MIRRORD_CLUSTERS_CONFIG, value: /mirrord-config/clusters-config.yaml}
{{- end }}
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
