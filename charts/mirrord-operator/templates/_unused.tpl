{{/*
Values that are set and change nothing: unknown ones, those of another role, and settings that their part does not have. A line for each, as a
list in YAML. NOTES have these lines, and `braid doctor` finds them in the operator's ConfigMap. Not here: the values of the published chart
that have no effect anywhere (values-without-effect.yaml), which only NOTES name.
*/}}
{{- define "braid.unusedValues" -}}
{{- $known := include "braid.knownValues" . | fromYaml -}}
{{- $lines := include "braid.unknownValues" (list "" $known .Values $known) | fromYamlArray -}}
{{- $rows := dict -}}
{{- range .Files.Get "files/values-by-role.yaml" | fromYamlArray -}}{{- $_ := set $rows .path . -}}{{- end -}}
{{- range include "braid.settings" . | fromYaml -}}
  {{- if .where -}}{{- $_ := set $rows .value (dict "path" .value "role" .where "default" .default) -}}{{- end -}}
{{- end -}}
{{- $roles := .Files.Get "files/roles.yaml" | fromYaml -}}
{{- range $rows -}}
  {{- $role := index $roles .role -}}
  {{- if and (include "braid.isSet" (list $ .)) (not (include $role.has $)) -}}{{- $lines = append $lines (printf "%s: %s" .path $role.why) -}}{{- end -}}
{{- end -}}
{{- $lines = concat $lines (include "braid.unusedTls" . | fromYamlArray) -}}
{{- if include "braid.hasAgents" . -}}{{- $lines = concat $lines (include "braid.unusedAgentSettings" . | fromYamlArray) -}}{{- end -}}
{{- if include "braid.isOwnDefault" . -}}{{- $lines = concat $lines (include "braid.unusedBranchSettings" . | fromYamlArray) -}}{{- end -}}
{{- if include "braid.isPrimary" . -}}{{- $lines = concat $lines (include "braid.unusedClusterFields" . | fromYamlArray) -}}{{- end -}}
{{- toYaml $lines -}}
{{- end -}}

{{/* "true" where a value is not its default: list of the root, and a map of path and default. */}}
{{- define "braid.isSet" -}}
{{- $row := index . 1 -}}
{{- $value := (include "braid.at" (list (index . 0) $row.path) | fromJson).value -}}
{{- $default := index $row "default" -}}
{{- if kindIs "bool" $default -}}
  {{- if ne (include "braid.on" $value) (include "braid.on" $default) -}}true{{- end -}}
{{- else if and (or $value (kindIs "bool" $value) (kindIs "float64" $value)) (ne (toJson $value) (toJson $default)) -}}true
{{- end -}}
{{- end -}}

{{/* "true" where sessions have their databases in this cluster. */}}
{{- define "braid.isOwnDefault" -}}{{- if not (include "braid.isDefaultElsewhere" .) -}}true{{- end -}}{{- end -}}

{{- define "braid.splitsQueues" -}}{{- include "braid.on" .Values.operator.sqsSplitting -}}{{- end -}}

{{- define "braid.limitsNetwork" -}}{{- include "braid.on" .Values.networkPolicy.enabled -}}{{- end -}}

{{/* The sources of the serving certificate that another one wins over. */}}
{{- define "braid.unusedTls" -}}
{{- $tls := .Values.tls -}}
{{- $lines := list -}}
{{- range $path, $isGiven := dict "tls.certManager.enabled" (include "braid.on" $tls.certManager.enabled) "tls.data.\"tls.key\"" (index $tls.data "tls.key") -}}
  {{- if $isGiven -}}
    {{- if include "braid.on" $tls.useExistingSecret -}}
      {{- $lines = append $lines (print $path ": tls.useExistingSecret is on, and wins over it") -}}
    {{- else if and (ne $path "tls.certManager.enabled") (include "braid.on" $tls.certManager.enabled) -}}
      {{- $lines = append $lines (print $path ": tls.certManager.enabled is on, and wins over it") -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- if and (index $tls.data "tls.crt") (not (index $tls.data "tls.key")) -}}
  {{- $lines = append $lines "tls.data.\"tls.crt\": tls.data.\"tls.key\" is not given, without which it is no certificate" -}}
{{- end -}}
{{- toYaml $lines -}}
{{- end -}}

{{- define "braid.unusedAgentSettings" -}}
{{- $lines := list -}}
{{- $isEphemeral := include "braid.hasEphemeralAgents" . -}}
{{- $ofJobs := list "annotations" "check_out_of_pods" "disable_mesh_sidecar_injection" "image_pull_secrets" "labels" "namespace" "node_selector" "priority_class" "priority_class_name" "resources" "security_context" "service_account" "tolerations" "ttl" -}}
{{- $known := include "braid.agentFields" . | fromYaml -}}
{{- range $name, $value := .Values.agent.extraConfig -}}
  {{- $path := print "agent.extraConfig." $name -}}
  {{- if not (hasKey $known $name) -}}
    {{- $lines = append $lines (printf "%s: agents have no such setting%s" $path (include "braid.didYouMean" (list $name (keys $known)))) -}}
  {{- else if and $isEphemeral (has $name $ofJobs) (not (kindIs "invalid" $value)) -}}
    {{- $lines = append $lines (print $path ": agents are ephemeral containers, which live by the settings of their pod") -}}
  {{- else if and (eq $name "exclude_from_mesh") (eq (toJson $value) "true") (not $isEphemeral) -}}
    {{- $lines = append $lines (print $path ": only agents as ephemeral containers have it") -}}
  {{- end -}}
{{- end -}}
{{- toYaml $lines -}}
{{- end -}}

{{- define "braid.unusedBranchSettings" -}}
{{- $operator := .Values.operator -}}
{{- $lines := list -}}
{{- $known := list "affinity" "allowedImages" "annotations" "dbServerArgs" "image" "imagePullPolicy" "imagePullSecrets" "initVolume" "labels" -}}
{{- $known = concat $known (list "migrationEnv" "migrationImages" "nodeSelector" "resources" "storage" "tolerations" "volume") -}}
{{- $branched := splitList " " (include "braid.branchedEngines" .) -}}
{{- range $engine := splitList " " (include "braid.engines" .) -}}
  {{- $path := printf "operator.%sBranchConfig" $engine -}}
  {{- $isOn := include "braid.on" (index $operator (print $engine "Branching")) -}}
  {{- if and (has $engine $branched) (index $operator (print $engine "BranchConfig")) (not $isOn) -}}
    {{- $lines = append $lines (printf "%s: operator.%sBranching is off" $path $engine) -}}
  {{- else if has $engine $branched -}}
    {{- $blocks := dict -}}
    {{- range $name, $value := index $operator (print $engine "BranchConfig") -}}
      {{- if eq $name "dbPod" -}}
        {{- $_ := set $blocks $name $value -}}
      {{- else if and (eq $name "profiles") (kindIs "map" $value) -}}
        {{- range $profile, $found := $value -}}
          {{- if kindIs "map" $found -}}{{- $_ := set $blocks (printf "profiles.%s.dbPod" $profile) $found.dbPod -}}{{- end -}}
        {{- end -}}
      {{- else -}}
        {{- $lines = append $lines (printf "%s.%s: branches have no such setting yet%s" $path $name (include "braid.didYouMean" (list $name (list "dbPod" "profiles")))) -}}
      {{- end -}}
    {{- end -}}
    {{- range $block, $value := $blocks -}}
      {{- if kindIs "map" $value -}}
        {{- range $field, $_ := $value -}}
          {{- if not (has $field $known) -}}
            {{- $lines = append $lines (printf "%s.%s.%s: branches have no such setting yet%s" $path $block $field (include "braid.didYouMean" (list $field $known))) -}}
          {{- end -}}
        {{- end -}}
      {{- end -}}
    {{- end -}}
  {{- else if $isOn -}}
    {{- $lines = append $lines (printf "operator.%sBranching: no branch of this engine is made yet, and each is refused with a sentence" $engine) -}}
  {{- end -}}
{{- end -}}
{{- toYaml $lines -}}
{{- end -}}

{{- define "braid.clusterFields" -}}server authType isDefault namespace caData region tenantId clientId bearerToken tlsCrt tlsKey{{- end -}}

{{- define "braid.unusedClusterFields" -}}
{{- $fields := include "braid.clusterFields" . | splitList " " -}}
{{- $lines := list -}}
{{- range $name, $cluster := .Values.operator.multiCluster.clusters -}}
  {{- range $field, $value := kindIs "map" $cluster | ternary $cluster dict -}}
    {{- if not (has $field $fields) -}}
      {{- $lines = append $lines (printf "operator.multiCluster.clusters.%s.%s: a cluster has no such field%s" $name $field (include "braid.didYouMean" (list $field $fields))) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- toYaml $lines -}}
{{- end -}}
