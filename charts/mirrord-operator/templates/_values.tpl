{{/*
Reading values. Every template includes "braid.normalise" first. It refuses values that cannot be used; maps that a values file set to null
become empty, names that may not be empty get their default, and so do switches that are on by default when they are null, so that nothing
below needs to look twice.
test/charts/null-values.test.ts lists the values for which null is not the default.
*/}}
{{- define "braid.normalise" -}}
{{- if not (hasKey .Values "braid.judged") -}}{{- include "braid.judge" . -}}{{- end -}}
{{- end -}}

{{/* The same, once: the values are the same for all templates, so the first one that is rendered does it, and tells all mistakes at once. */}}
{{- define "braid.judge" -}}
{{- $wrong := list -}}
{{- range $path := list "clusterRole" "clusterRole.mirrord-operator-user-basic" "clusterRole.mirrord-operator-user" "clusterRole.mirrord-operator-ci" "role" "role.mirrord-operator-user" "rbac" "service" "sa" "license" "license.file" "cloud" "cloud.apiKey" "tls" "tls.data" "tls.certManager" "tls.apiService" "networkPolicy" "monitoring" "monitoring.service" "monitoring.serviceMonitor" "monitoring.serviceMonitor.labels" "monitoring.prometheusRule" "monitoring.prometheusRule.labels" "monitoring.grafanaDashboard" "monitoring.grafanaDashboard.labels" "targets" "bounds" "dashboard" "dashboard.ingress" "dashboard.ingress.annotations" "dashboard.ingress.serviceAnnotations" "dashboard.oidc" "usage" "usage.persistence" "usage.postgres" "operator" "operator.multiCluster" "operator.multiCluster.clusters" "operator.copyTarget" "operator.cell" "operator.cell.service" "operator.cell.service.annotations" "operator.outbound" "operator.outbound.proxy" "operator.temporalProxy" "operator.kafkaSplittingSidecar" "operator.dbBranching" "operator.shareIngress" "operator.podDisruptionBudget" "operator.requests" "operator.limits" "operator.extraEnv" "operator.labels" "operator.podLabels" "operator.podAnnotations" "operator.preview" "agent" "agent.priorityClass" "agent.extraConfig" "agent.extraEnv" -}}
  {{- $parent := $.Values -}}
  {{- $keys := splitList "." $path -}}
  {{- range $index, $key := $keys -}}
    {{- $value := index $parent $key -}}
    {{- if not (kindIs "map" $value) -}}
      {{- if $value -}}
        {{- $wrong = append $wrong (include "braid.mistake" (list $path "it must hold a map" $value "write keys below it")) -}}
      {{- end -}}
      {{- $_ := set $parent $key dict -}}
    {{- end -}}
    {{- $parent = index $parent $key -}}
  {{- end -}}
{{- end -}}
{{- $operator := .Values.operator -}}
{{- $wrong = concat (uniq $wrong) (include "braid.kindMistakes" (list "" (include "braid.knownValues" . | fromYaml) .Values) | fromYamlArray) -}}
{{- /* Left open, the certificate is checked wherever it is known by whom: only one that the user brings without its CA is not. */}}
{{- $unchecked := and (include "braid.hasTlsSecret" .) (not .Values.tls.apiService.caBundle) (not (include "braid.on" .Values.tls.certManager.enabled)) -}}
{{- if kindIs "invalid" .Values.tls.apiService.insecureSkipTLSVerify -}}{{- $_ := set .Values.tls.apiService "insecureSkipTLSVerify" (not (not $unchecked)) -}}{{- end -}}
{{- /* Text that is empty is as dangerous as null here. */}}
{{- if eq (toString $operator.requireFrontProxyClientCert) "" -}}{{- $_ := set $operator "requireFrontProxyClientCert" nil -}}{{- end -}}
{{- $switches := list "createNamespace" "networkPolicy.agents" "sa.create" "tls.certManager.createIssuer" "operator.dbBranchingLiteralCredentials" "agent.injectHeaders" "agent.priorityClass.create" -}}
{{- range include "braid.settings" . | fromYaml -}}{{- if .isOnByDefault -}}{{- $switches = append $switches .value -}}{{- end -}}{{- end -}}
{{- range $path := $switches -}}
  {{- $parent := $.Values -}}
  {{- range $key := splitList "." $path | initial -}}{{- $parent = index $parent $key -}}{{- end -}}
  {{- $key := splitList "." $path | last -}}
  {{- if kindIs "invalid" (index $parent $key) -}}{{- $_ := set $parent $key true -}}{{- end -}}
{{- end -}}
{{- range $field, $default := dict "replicas" 1 "port" 443 "terminationGracePeriodSeconds" 30 -}}
  {{- if has (toString (index $operator $field)) (list "" "<nil>") -}}{{- $_ := set $operator $field $default -}}{{- end -}}
{{- end -}}
{{- range $field, $default := dict "retentionDays" 1826 "maxMebibytes" 900 -}}
  {{- if has (toString (index $.Values.usage $field)) (list "" "<nil>") -}}{{- $_ := set $.Values.usage $field $default -}}{{- end -}}
{{- end -}}
{{- $_ := set .Values.usage.postgres "key" (include "braid.text" .Values.usage.postgres.key | default "DATABASE_URL") -}}
{{- if has (toString .Values.usage.persistence.size) (list "" "<nil>") -}}{{- $_ := set .Values.usage.persistence "size" "1Gi" -}}{{- end -}}
{{- range $field, $default := dict "scopes" (list "openid" "profile" "email") "groupsClaim" "groups" "groups" list "emails" list -}}
  {{- if has (toString (index $.Values.dashboard.oidc $field)) (list "" "<nil>") -}}{{- $_ := set $.Values.dashboard.oidc $field $default -}}{{- end -}}
{{- end -}}
{{- range $field, $default := dict "port" 8443 "bootstrapPort" 8444 "certificateHours" 24 -}}
  {{- if has (toString (index $operator.cell $field)) (list "" "<nil>") -}}{{- $_ := set $operator.cell $field $default -}}{{- end -}}
{{- end -}}
{{- $_ := set $operator.cell.service "type" (include "braid.text" $operator.cell.service.type | default "LoadBalancer") -}}
{{- range $field := list "groups" "extraKeys" -}}
  {{- if kindIs "invalid" (index $operator.outbound.proxy $field) -}}{{- $_ := set $operator.outbound.proxy $field list -}}{{- end -}}
{{- end -}}
{{- if has (toString $operator.outbound.proxy.prefix) (list "" "<nil>") -}}{{- $_ := set $operator.outbound.proxy "prefix" "primary:" -}}{{- end -}}
{{- $_ := set .Values "namespace" (include "braid.text" .Values.namespace | default "mirrord") -}}
{{- $_ := set .Values.service "name" (include "braid.text" .Values.service.name | default "mirrord-operator") -}}
{{- $_ := set .Values.sa "name" (include "braid.text" .Values.sa.name | default "mirrord-operator") -}}
{{- $_ := set .Values.tls "secret" (include "braid.text" .Values.tls.secret | default "mirrord-operator-tls") -}}
{{- $_ := set .Values.tls.certManager "issuer" (include "braid.text" .Values.tls.certManager.issuer | default "mirrord-operator-issuer") -}}
{{- $_ := set .Values.tls.certManager "certificate" (include "braid.text" .Values.tls.certManager.certificate | default "mirrord-operator-tls") -}}
{{- $_ := set $operator "image" ($operator.image | default "ghcr.io/braid-operator/braid") -}}
{{- $_ := set $operator "imagePullPolicy" ($operator.imagePullPolicy | default "IfNotPresent") -}}
{{- /* The operator lets this variable win over its file; so rights and file are as it says. */ -}}
{{- with include "braid.literal" $operator.extraEnv.PRIMARY_MANAGEMENT_ONLY -}}
  {{- if has . (include "braid.truths" $ | splitList " ") -}}
    {{- $_ := set $operator.multiCluster "managementOnly" (has . (include "braid.trueWords" $ | splitList " ")) -}}
  {{- end -}}
{{- end -}}
{{- with include "braid.literal" $operator.extraEnv.OPERATOR_MULTI_CLUSTER_PROVIDERS -}}
  {{- $_ := set $operator.multiCluster "providers" (splitList "," .) -}}
{{- end -}}
{{- with include "braid.literal" $operator.extraEnv.OPERATOR_CLUSTER_API_NAMESPACE -}}
  {{- $_ := set $operator.multiCluster "clusterApiNamespace" . -}}
{{- end -}}
{{- with include "braid.literal" $operator.extraEnv.OPERATOR_CLUSTER_PROFILE_NAMESPACE -}}
  {{- $_ := set $operator.multiCluster "clusterProfileNamespace" . -}}
{{- end -}}
{{- /* So do these over the values. */ -}}
{{- $copies := $operator.extraEnv.OPERATOR_COPY_TARGET_ENABLED -}}
{{- if not (or (kindIs "invalid" $copies) (include "braid.isStructure" $copies) (eq (include "braid.text" $copies) "")) -}}
  {{- $_ := set $operator.copyTarget "enabled" (has (include "braid.text" $copies) (include "braid.trueWords" . | splitList " ")) -}}
{{- end -}}
{{- range $name, $part := dict "OPERATOR_CELL" $operator.cell "OPERATOR_OUTBOUND" $operator.outbound -}}
  {{- $switch := index $operator.extraEnv $name -}}
  {{- if not (or (kindIs "invalid" $switch) (include "braid.isStructure" $switch) (eq (include "braid.text" $switch) "")) -}}
    {{- $_ := set $part "enabled" (has (include "braid.text" $switch) (include "braid.trueWords" $ | splitList " ")) -}}
  {{- end -}}
{{- end -}}
{{- range $variable, $value := dict "OPERATOR_OUTBOUND_PROXY_GROUPS" "groups" "OPERATOR_OUTBOUND_PROXY_EXTRA_KEYS" "extraKeys" -}}
  {{- with include "braid.literal" (index $operator.extraEnv $variable) -}}{{- $_ := set $operator.outbound.proxy $value (splitList "," .) -}}{{- end -}}
{{- end -}}
{{- with include "braid.literal" $operator.extraEnv.OPERATOR_OUTBOUND_PROXY_PREFIX -}}{{- $_ := set $operator.outbound.proxy "prefix" . -}}{{- end -}}
{{- with include "braid.literal" $operator.extraEnv.OPERATOR_OUTBOUND_CELL -}}{{- $_ := set $operator.outbound "cell" . -}}{{- end -}}
{{- $tls := $operator.extraEnv.OPERATOR_AGENT_CONNECTION_TLS -}}
{{- if not (or (kindIs "invalid" $tls) (include "braid.isStructure" $tls)) -}}
  {{- $_ := set .Values.agent "tls" (has (include "braid.text" $tls) (include "braid.trueWords" . | splitList " ")) -}}
{{- end -}}
{{- $_ := set .Values "braid.judged" true -}}
{{- $wrong = concat $wrong (include "braid.mistakes" . | fromYamlArray) (include "braid.livingCopies" . | fromYamlArray) (include "braid.livingSplits" . | fromYamlArray) -}}
{{- if $wrong -}}{{- include "braid.refuse" $wrong -}}{{- end -}}
{{- end -}}

{{/*
A sentence for each copy of a target that an upgrade would leave behind, and each workload whose pods it holds, as a list in YAML: the
operator that is installed makes copies, and the next one has no rights to end them. Only helm with a cluster sees any.
*/}}
{{- define "braid.livingCopies" -}}
{{- $sentences := list -}}
{{- if and .Release.IsUpgrade (not (include "braid.copiesTargets" .)) -}}
  {{- $copies := false -}}
  {{- $role := lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" "mirrord-operator" -}}
  {{- range $role.rules -}}
    {{- if and (has "deployments" (.resources | default list)) (has "patch" (.verbs | default list)) -}}{{- $copies = true -}}{{- end -}}
  {{- end -}}
  {{- if $copies -}}
    {{- range $kind, $label := dict "v1 Pod" "copy-target" "apps/v1 Deployment" "scaled-down-from" "apps/v1 StatefulSet" "scaled-down-from" -}}
      {{- $words := splitList " " $kind -}}
      {{- range (lookup (first $words) (last $words) "" "").items -}}
        {{- if hasKey (.metadata.labels | default dict) (print "operator.metalbear.co/" $label) -}}
          {{- $what := ternary "is a copy of a target, which nobody would end" "has given its pods to a copy, and nobody would give them back" (eq $label "copy-target") -}}
          {{- $sentences = append $sentences (printf "%s %s/%s: it %s with these values; end the copy's session, or run braid cleanup --copies --apply, and upgrade again." (last $words) .metadata.namespace .metadata.name $what) -}}
        {{- end -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- toYaml $sentences -}}
{{- end -}}

{{/*
A sentence for each split of queues to which an upgrade would do harm, as a list in YAML: the operator that is installed splits
queues, and the next one does not look at them; or its replicas share the queues, and the next leader would read them beside
replicas that have not ended yet. Only helm with a cluster sees any.
*/}}
{{- define "braid.livingSplits" -}}
{{- $sentences := list -}}
{{- if .Release.IsUpgrade -}}
  {{- $rights := dict "splits" false "shares" false -}}
  {{- $role := lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" "mirrord-operator" -}}
  {{- range $role.rules -}}
    {{- if has "mirrordclusterworkloadpatches" (.resources | default list) -}}{{- $_ := set $rights "splits" true -}}{{- end -}}
  {{- end -}}
  {{- $role = lookup "rbac.authorization.k8s.io/v1" "Role" .Values.namespace "mirrord-operator" -}}
  {{- range $role.rules -}}
    {{- /* A primary watches ConfigMaps too; it changes named ones alone. */ -}}
    {{- if and (has "configmaps" (.resources | default list)) (has "watch" .verbs) (has "patch" .verbs) -}}{{- $_ := set $rights "shares" true -}}{{- end -}}
  {{- end -}}
  {{- $harm := "" -}}
  {{- if not (include "braid.endsSplits" .) -}}
    {{- $harm = "its pods read temporary queues, which nothing would fill with these values" -}}
  {{- else if and $rights.shares (not (include "braid.on" .Values.operator.sqsSplittingSharding)) -}}
    {{- $harm = "the replicas share its queues, and with operator.sqsSplittingSharding off the next leader would read them at the same time" -}}
  {{- end -}}
  {{- if and $rights.splits $harm -}}
    {{- range (lookup "mirrord.metalbear.co/v1alpha" "MirrordClusterWorkloadPatch" "" "").items -}}
      {{- if hasKey (.metadata.annotations | default dict) "operator.metalbear.co/queue-split" -}}
        {{- with .spec.workloadRef -}}
          {{- $sentences = append $sentences (printf "%s %s/%s: %s; end its sessions, or run braid cleanup --splits --apply, and upgrade again." .kind .namespace .name $harm) -}}
        {{- end -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- toYaml $sentences -}}
{{- end -}}

{{/* "true" where this operator splits queues, so that splits end before it goes. */}}
{{- define "braid.endsSplits" -}}
{{- if include "braid.hasAgents" . -}}{{- include "braid.splitsQueues" . -}}{{- end -}}
{{- end -}}

{{/* Ends the rendering with these sentences. */}}
{{- define "braid.refuse" -}}
{{- fail (printf "the values cannot be used:\n%s" (join "\n" .)) -}}
{{- /* `helm lint` prints a failure and goes on, and would call the chart well. A template that does not exist is an error there too. */ -}}
{{- include "the values cannot be used, as the lines [INFO] Fail say" . -}}
{{- end -}}

{{/* The values that there are, with the kind of each, in YAML. */}}
{{- define "braid.knownValues" -}}{{- .Files.Get "files/known-values.yaml" -}}{{- end -}}

{{/* "true" when a switch is on. Text counts as it reads: "false" is off, unlike in a plain condition. */}}
{{- define "braid.on" -}}
{{- if kindIs "string" . -}}
  {{- if not (has (lower (trim .)) (list "" "false")) -}}true{{- end -}}
{{- else if . -}}true
{{- end -}}
{{- end -}}

{{/* "true" when one of the values at the given paths is on: list of the root and of the paths. */}}
{{- define "braid.anyOn" -}}
{{- $root := index . 0 -}}
{{- $found := "" -}}
{{- range $path := index . 1 -}}
  {{- $value := include "braid.at" (list $root $path) | fromJson -}}
  {{- if include "braid.on" $value.value -}}{{- $found = "true" -}}{{- end -}}
{{- end -}}
{{- $found -}}
{{- end -}}

{{/* The value at a dotted path, as JSON {"value": …}; null when there is none. */}}
{{- define "braid.at" -}}
{{- $value := (index . 0).Values -}}
{{- range $key := splitList "." (index . 1) -}}
  {{- if kindIs "map" $value -}}{{- $value = index $value $key -}}{{- else -}}{{- $value = "" -}}{{- end -}}
{{- end -}}
{{- dict "value" $value | toJson -}}
{{- end -}}

{{/* A scalar as text. Numbers of a values file are floats, which would print as 1e+06. */}}
{{- define "braid.text" -}}
{{- if kindIs "float64" . -}}
  {{- if eq . (floor .) -}}{{- printf "%.0f" . -}}{{- else -}}{{- toString . -}}{{- end -}}
{{- else if not (kindIs "invalid" .) -}}{{- toString . -}}
{{- end -}}
{{- end -}}

{{/* A scalar as quoted text. JSON leaves characters as they are that YAML takes only escaped. */}}
{{- define "braid.quoted" -}}
{{- $quoted := include "braid.text" . | toJson -}}
{{- if regexMatch "[\\x{7F}-\\x{9F}\\x{FFFE}\\x{FFFF}]" $quoted -}}
  {{- range $code := concat (untilStep 127 160 1) (list 65534 65535) -}}
    {{- $quoted = replace (printf "%c" $code) (printf "\\u%04x" $code) $quoted -}}
  {{- end -}}
{{- end -}}
{{- $quoted -}}
{{- end -}}

{{/* What the operator reads as a switch in its environment. */}}
{{- define "braid.trueWords" -}}true yes on 1 y{{- end -}}
{{- define "braid.truths" -}}{{- include "braid.trueWords" . }} false no off 0 n{{- end -}}

{{/* A switch as text of an environment variable; text goes through as it is. */}}
{{- define "braid.bool" -}}
{{- if kindIs "string" . -}}{{- . | default "false" -}}{{- else if . -}}true{{- else -}}false{{- end -}}
{{- end -}}

{{/* A sentence about a wrong value: list of path, problem, what was found, cure. */}}
{{- define "braid.mistake" -}}
{{- $found := index . 2 -}}
{{- $shown := "nothing" -}}
{{- if not (kindIs "invalid" $found) -}}{{- $shown = toJson $found | trunc 80 -}}{{- end -}}
{{- printf "%s: %s (found %s); %s." (index . 0) (index . 1) $shown (index . 3) -}}
{{- end -}}

{{/* Seconds as the operator reads them: list of the value and the default; 0 and null are "not set". */}}
{{- define "braid.seconds" -}}
{{- $text := include "braid.text" (index . 0) -}}
{{- if or (eq $text "") (eq $text "0") -}}{{- index . 1 -}}{{- else -}}{{- $text -}}{{- end -}}
{{- end -}}

{{/* A cluster's name as a DNS label, for names of objects: the operator's clusterSlug. */}}
{{- define "braid.slug" -}}
{{- if and (le (len .) 63) (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" .) -}}{{- . -}}
{{- else -}}
  {{- $hash := sha256sum . | trunc 6 -}}
  {{- $words := regexReplaceAll "[^a-z0-9]+" (lower (replace "İ" "i-" .)) "-" | trunc 56 | trimAll "-" -}}
  {{- if $words -}}{{- printf "%s-%s" $words $hash -}}{{- else -}}{{- printf "c-%s" $hash -}}{{- end -}}
{{- end -}}
{{- end -}}

{{/* Why a text cannot be a cluster's name, or nothing. */}}
{{- define "braid.nameProblem" -}}
{{- $units := regexReplaceAll "[\\x{10000}-\\x{10FFFF}]" . "xx" -}}
{{- if regexMatch "^[\\s\\p{Z}\\x{FEFF}]*$" . -}}a cluster needs a name
{{- else if regexMatch "(?s)^.{254}" $units -}}a cluster's name may have at most 253 characters
{{- else if regexMatch "\\p{Cc}" . -}}a cluster's name may not hold control characters
{{- end -}}
{{- end -}}

{{/* "true" for a map or a list, which can never be a text. */}}
{{- define "braid.isStructure" -}}
{{- if or (kindIs "map" .) (kindIs "slice" .) -}}true{{- end -}}
{{- end -}}

{{- define "braid.clusterName" -}}
{{- include "braid.text" .Values.operator.multiCluster.clusterName | default "primary" -}}
{{- end -}}

{{- define "braid.isPrimary" -}}{{- include "braid.on" .Values.operator.multiCluster.enabled -}}{{- end -}}
{{/* "true" where users have sessions of this cluster alone. */}}
{{- define "braid.isDirect" -}}{{- if not (include "braid.isPrimary" .) -}}true{{- end -}}{{- end -}}
{{- define "braid.servesMetrics" -}}
{{- $metrics := .Values.operator.extraEnv.OPERATOR_METRICS_ENABLED -}}
{{- if or (include "braid.isStructure" $metrics) (eq (include "braid.text" $metrics) "") -}}{{- $metrics = .Values.operator.metrics -}}{{- end -}}
{{- if kindIs "string" $metrics -}}
  {{- if has $metrics (include "braid.trueWords" . | splitList " ") -}}true{{- end -}}
{{- else -}}{{- include "braid.on" $metrics -}}
{{- end -}}
{{- end -}}
{{/* The port of the API: the value's, or that of the user's own address. */}}
{{- define "braid.apiPort" -}}
{{- $own := include "braid.text" .Values.operator.extraEnv.OPERATOR_ADDR -}}
{{- regexFind "[0-9]+$" $own | default (include "braid.text" .Values.operator.port) -}}
{{- end -}}
{{/* The port of metrics: 9000, or that of the user's own address. */}}
{{- define "braid.metricsPort" -}}
{{- $own := include "braid.text" .Values.operator.extraEnv.OPERATOR_METRICS_ADDR -}}
{{- regexFind "[0-9]+$" $own | default "9000" -}}
{{- end -}}
{{/* The page of use is served for an ingress. */}}
{{- define "braid.hasDashboard" -}}
{{- $trues := include "braid.trueWords" . | splitList " " -}}
{{- if and (has (include "braid.text" .Values.dashboard.enabled) $trues) (has (include "braid.text" .Values.dashboard.ingress.enabled) $trues) -}}true{{- end -}}
{{- end -}}
{{- define "braid.dashboardPort" -}}
{{- include "braid.text" .Values.operator.extraEnv.OPERATOR_DASHBOARD_PORT | default "8050" -}}
{{- end -}}
{{- define "braid.isMember" -}}{{- include "braid.on" .Values.operator.multiClusterMember -}}{{- end -}}
{{/* This primary takes the tunnels of members that dial out. */}}
{{- define "braid.isCell" -}}
{{- if include "braid.isPrimary" . -}}{{- include "braid.on" .Values.operator.cell.enabled -}}{{- end -}}
{{- end -}}
{{/* This member dials its primary. */}}
{{- define "braid.isOutpost" -}}
{{- if include "braid.isMember" . -}}{{- include "braid.on" .Values.operator.outbound.enabled -}}{{- end -}}
{{- end -}}
{{/* The name of a group of the primary in this cluster. */}}
{{- define "braid.peopleGroup" -}}
{{- $prefix := include "braid.text" (index . 0).Values.operator.outbound.proxy.prefix -}}
{{- if ne $prefix "-" -}}{{- $prefix -}}{{- end -}}{{- include "braid.text" (index . 1) -}}
{{- end -}}
{{/* People send requests to this member through its primary. */}}
{{- define "braid.takesPeople" -}}
{{- if include "braid.isOutpost" . -}}{{- if .Values.operator.outbound.proxy.groups -}}true{{- end -}}{{- end -}}
{{- end -}}
{{/* Sessions have agents in this cluster; in one that only manages sessions they have none. */}}
{{- define "braid.hasAgents" -}}
{{- if or (not (include "braid.isPrimary" .)) (include "braid.isMember" .) (ne (include "braid.bool" .Values.operator.multiCluster.managementOnly) "true") -}}true{{- end -}}
{{- end -}}
{{/* Agents are ephemeral containers of targets' pods instead of Jobs. */}}
{{- define "braid.hasEphemeralAgents" -}}
{{- if and (include "braid.hasAgents" .) (eq (toJson (index .Values.agent.extraConfig "ephemeral")) "true") -}}true{{- end -}}
{{- end -}}
{{/* The operator copies targets of sessions in this cluster. */}}
{{- define "braid.copiesTargets" -}}
{{- if and (include "braid.hasAgents" .) (include "braid.on" .Values.operator.copyTarget.enabled) -}}true{{- end -}}
{{- end -}}
{{/* The operator asks nodes for room before it makes the Job of an agent. */}}
{{- define "braid.asksNodes" -}}
{{- if and (include "braid.hasAgents" .) (not (include "braid.hasEphemeralAgents" .)) (eq (toJson (index .Values.agent.extraConfig "check_out_of_pods")) "true") -}}true{{- end -}}
{{- end -}}
{{- define "braid.hasMemberAccount" -}}
{{- $hasGroup := or .Values.operator.multiClusterMemberIamGroup .Values.operator.multiClusterMemberAzureGroup -}}
{{- /* The outpost makes the primary's requests as this account. */ -}}
{{- if and (include "braid.isMember" .) (or (not $hasGroup) (include "braid.isOutpost" .)) -}}true{{- end -}}
{{- end -}}

{{/* Labels of all objects. Those of the user may replace them, and a key is never there twice. */}}
{{- define "braid.labels" -}}
{{- include "braid.labelsWith" (list . dict) -}}
{{- end -}}

{{/* The same with labels that win over all: list of the root and of those. */}}
{{- define "braid.labelsWith" -}}
{{- $root := index . 0 -}}
{{- $labels := dict "app.kubernetes.io/name" $root.Chart.Name "app.kubernetes.io/instance" $root.Release.Name "app.kubernetes.io/version" $root.Chart.AppVersion "app.kubernetes.io/managed-by" $root.Release.Service -}}
{{- $_ := set $labels "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") -}}
{{- range $name, $value := $root.Values.operator.labels -}}{{- $_ := set $labels $name (include "braid.text" $value) -}}{{- end -}}
{{- range $name, $value := index . 1 -}}{{- $_ := set $labels $name (include "braid.text" $value) -}}{{- end -}}
{{- toYaml $labels -}}
{{- end -}}

{{/* The image's digest, if this chart is a release's and the image is the release's too. */}}
{{- define "braid.imageDigest" -}}
{{- if and (eq .Values.operator.image "ghcr.io/braid-operator/braid") (not .Values.operator.imageTag) -}}
{{- with .Chart.Annotations }}{{ index . "imageDigest" }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "braid.image" -}}
{{- printf "%s:%s" .Values.operator.image (include "braid.text" .Values.operator.imageTag | default .Chart.AppVersion) -}}
{{- with include "braid.imageDigest" . }}@{{ . }}{{ end -}}
{{- end -}}

{{/* The engines of database branching and the text in their variables; one flag, one file, two variables each. */}}
{{- define "braid.engines" -}}mysql mariadb pg mongodb dynamodb mssql redis spanner clickhouse cockroachdb generic{{- end -}}

{{/* Those of them whose branches are made. */}}
{{- define "braid.branchedEngines" -}}pg mysql mariadb mongodb dynamodb redis clickhouse{{- end -}}
{{/* Queues: value without "Splitting", and variable without OPERATOR_ and _SPLITTING. */}}
{{- define "braid.queues" -}}sqs=SQS rmq=RMQ kafka=KAFKA gcpPubsub=GCP_PUBSUB azureServiceBus=AZURE_SERVICE_BUS redisPubsub=REDIS_PUBSUB temporal=TEMPORAL bullmq=BULLMQ{{- end -}}

{{- define "braid.anyBranching" -}}
{{- range $engine := splitList " " (include "braid.engines" .) -}}{{- include "braid.on" (index $.Values.operator (printf "%sBranching" $engine)) -}}{{- end -}}
{{- end -}}

{{/* Not empty if an engine is on whose branches are made; branches of the others only get a sentence. */}}
{{- define "braid.anyBranched" -}}
{{- range $engine := splitList " " (include "braid.branchedEngines" .) -}}{{- include "braid.on" (index $.Values.operator (printf "%sBranching" $engine)) -}}{{- end -}}
{{- end -}}

{{/* The resources that ask for branches: one for all engines, and one for each engine that clients knew before it. */}}
{{- define "braid.branchKinds" -}}
branchdatabases
{{- range $engine := list "pg" "mysql" "mongodb" }}{{ if include "braid.on" (index $.Values.operator (print $engine "Branching")) }}, {{ $engine }}branchdatabases{{ end }}{{ end }}
{{- end -}}

{{/* "true" for a primary whose sessions have their databases in another cluster. */}}
{{- define "braid.isDefaultElsewhere" -}}
{{- if and (include "braid.isPrimary" .) (ne (include "braid.text" .Values.operator.multiCluster.defaultCluster) (include "braid.clusterName" .)) -}}true{{- end -}}
{{- end -}}

{{/* "true" where the operator makes branches: sessions have their databases in the default cluster, so no other primary makes any. */}}
{{- define "braid.makesBranches" -}}
{{- if and (include "braid.anyBranching" .) (include "braid.hasAgents" .) (not (include "braid.isDefaultElsewhere" .)) -}}true{{- end -}}
{{- end -}}

{{/* "true" where the operator has the branches that users order made in its default cluster. */}}
{{- define "braid.copiesBranches" -}}
{{- if and (include "braid.anyBranching" .) (include "braid.isDefaultElsewhere" .) -}}true{{- end -}}
{{- end -}}

{{/* "true" where branches are in this cluster by the operator's doing, or by its permission. */}}
{{- define "braid.hasBranches" -}}
{{- include "braid.makesBranches" . | default (include "braid.copiesBranches" .) -}}
{{- end -}}

{{/* "true" where the API server can ask for a right in an admission policy, which it does since Kubernetes 1.30. */}}
{{- define "braid.hasAdmissionPolicies" -}}
{{- if semverCompare ">=1.30-0" .Capabilities.KubeVersion.Version -}}true{{- end -}}
{{- end -}}

{{- define "braid.anySplitting" -}}
{{- range $queue := splitList " " (include "braid.queues" .) -}}{{- include "braid.on" (index $.Values.operator (printf "%sSplitting" (splitList "=" $queue | first))) -}}{{- end -}}
{{- end -}}

{{/* "true" where the operator keeps its own serving certificate, and tells the API server its authority. */}}
{{- define "braid.keepsCertificate" -}}
{{- $apiService := .Values.tls.apiService -}}
{{- if not (or (include "braid.hasTlsSecret" .) $apiService.caBundle (include "braid.on" $apiService.insecureSkipTLSVerify)) -}}true{{- end -}}
{{- end -}}

{{/* The Secrets with kubeconfigs that are mounted, by the names of their volumes, as JSON. */}}
{{- define "braid.kubeconfigSecrets" -}}
{{- $mounted := dict -}}
{{- if include "braid.isPrimary" . -}}
  {{- with .Values.operator.multiCluster.kubeconfigFileSecret -}}{{- $_ := set $mounted "file" . -}}{{- end -}}
  {{- with .Values.operator.multiCluster.kubeconfigDirectorySecret -}}{{- $_ := set $mounted "directory" . -}}{{- end -}}
{{- end -}}
{{- toJson $mounted -}}
{{- end -}}

{{- define "braid.hasTlsSecret" -}}
{{- include "braid.on" .Values.tls.useExistingSecret -}}
{{- include "braid.on" (index .Values.tls.data "tls.key") -}}
{{- include "braid.on" .Values.tls.certManager.enabled -}}
{{- end -}}

{{/* Namespace of agents. */}}
{{- define "braid.agentNamespace" -}}
{{- include "braid.text" (index .Values.agent.extraConfig "namespace") | default .Values.namespace -}}
{{- end -}}

{{/* Names of the Secrets by which agents are pulled, separated by commas: the operator's, else those of the agents' settings. */}}
{{- define "braid.agentPullSecrets" -}}
{{- $names := list -}}
{{- $secrets := .Values.operator.imagePullSecrets | default (index .Values.agent.extraConfig "image_pull_secrets") -}}
{{- if kindIs "slice" $secrets -}}
  {{- range $secrets -}}
    {{- if kindIs "map" . -}}{{- $names = append $names (include "braid.text" .name) -}}{{- end -}}
  {{- end -}}
{{- end -}}
{{- join "," $names -}}
{{- end -}}

{{- define "braid.agentPriorityClass" -}}
{{- if not (hasKey .Values.agent.extraConfig "priority_class_name") -}}
{{- .Values.agent.priorityClass.name | default (ternary "mirrord-agent-pod" "" (eq (include "braid.on" .Values.agent.priorityClass.create) "true")) -}}
{{- end -}}
{{- end -}}

{{/* "true" where pods name their users. OpenShift gives each namespace users of its own, and refuses others. */}}
{{- define "braid.namesUsers" -}}
{{- $own := include "braid.text" .Values.operator.extraEnv.OPERATOR_POD_USERS -}}
{{- $value := ternary .Values.operator.podUsers $own (eq $own "") -}}
{{- if eq (include "braid.text" $value) "" -}}
  {{- if not (include "braid.on" .Values.openshift) -}}true{{- end -}}
{{- else if has (include "braid.text" $value) (include "braid.trueWords" . | splitList " ") -}}true
{{- end -}}
{{- end -}}

{{/* Security of the pod and of its container: the restricted Pod Security Standard. */}}
{{/* Name of the claim for the volume of records of use. */}}
{{/* Whether the records of use are in a volume, and not in a PostgreSQL database. */}}
{{- define "braid.hasUsageVolume" -}}
{{- if and (include "braid.on" .Values.dashboard.enabled) (not .Values.usage.postgres.secret) -}}true{{- end -}}
{{- end -}}

{{- define "braid.usageClaim" -}}{{- .Values.usage.persistence.existingClaim | default "mirrord-operator-usage" -}}{{- end -}}
{{- define "braid.podSecurity" -}}
runAsNonRoot: true
{{- if include "braid.namesUsers" . }}
runAsUser: 1000
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end -}}
{{- define "braid.containerSecurity" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* The text of a variable, or nothing where Kubernetes reads it from elsewhere (valueFrom). */}}
{{- define "braid.literal" -}}{{- if not (kindIs "map" .) -}}{{- include "braid.text" . -}}{{- end -}}{{- end -}}
