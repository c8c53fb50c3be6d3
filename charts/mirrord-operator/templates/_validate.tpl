{{/*
Fails with everything that the operator would refuse at its start, one sentence each: the rules of parse-configuration.ts and
parse-members.ts, and of the variables that settings.ts reads. What may come later (credentials, CA, region, roles) never fails; NOTES
lists it. Outputs nothing.
*/}}
{{- define "braid.validate" -}}
{{- $mistakes := list -}}
{{- $operator := .Values.operator -}}
{{- $multi := $operator.multiCluster -}}
{{- if include "braid.isPrimary" . -}}
  {{- $at := "operator.multiCluster" -}}

  {{- $own := "primary" -}}
  {{- if include "braid.isStructure" $multi.clusterName -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $at ".clusterName") "clusterName must be text" $multi.clusterName "write it in quotes")) -}}
  {{- else -}}
    {{- $own = include "braid.clusterName" . -}}
    {{- with include "braid.nameProblem" $own -}}
      {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $at ".clusterName") . $own "give this cluster another name")) -}}
      {{- $own = "primary" -}}
    {{- end -}}
  {{- end -}}

  {{- $kind := kindOf $multi.managementOnly -}}
  {{- if not (and (has $kind (list "invalid" "bool" "string")) (has (include "braid.bool" $multi.managementOnly) (list "true" "false"))) -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $at ".managementOnly") "managementOnly must be true or false" $multi.managementOnly "write true or false")) -}}
  {{- end -}}
  {{- $managementOnly := eq (include "braid.bool" $multi.managementOnly) "true" -}}

  {{- range $field, $default := dict "remoteSessionTimeoutSecs" 300 "sessionTtlSecs" 60 -}}
    {{- $value := index $multi $field -}}
    {{- $text := include "braid.seconds" (list $value $default) -}}
    {{- if or (kindIs "bool" $value) (not (regexMatch "^[1-9][0-9]{0,15}$" $text)) (gt (int64 $text) 9007199254740991) -}}
      {{- $mistakes = append $mistakes (include "braid.mistake" (list (printf "%s.%s" $at $field) (print $field " must be a whole number of seconds above 0") $value (printf "write for example %d" $default))) -}}
    {{- end -}}
  {{- end -}}

  {{- if not (has (include "braid.text" $multi.sessionStart) (list "" "default" "all")) -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $at ".sessionStart") "sessionStart must be default or all" $multi.sessionStart "write default or all")) -}}
  {{- end -}}

  {{- $slugs := dict (include "braid.slug" $own) $own -}}
  {{- $names := list -}}
  {{- $flagged := list -}}
  {{- $complete := true -}}
  {{- range $name, $found := $multi.clusters -}}
    {{- $path := printf "%s.clusters.%s" $at $name -}}
    {{- $cluster := $found | default dict -}}
    {{- if not (kindIs "map" $cluster) -}}
      {{- $mistakes = append $mistakes (include "braid.mistake" (list $path "a cluster must be a map" $cluster "write at least server and authType")) -}}
      {{- $complete = false -}}
    {{- else -}}
      {{- $problem := include "braid.nameProblem" $name -}}
      {{- if $problem -}}
        {{- $mistakes = append $mistakes (include "braid.mistake" (list $path $problem $name "write the name by which you know the cluster")) -}}
        {{- $complete = false -}}
      {{- else -}}
        {{- $slug := include "braid.slug" $name -}}
        {{- with index $slugs $slug -}}
          {{- if eq . $own -}}
            {{- $mistakes = append $mistakes (include "braid.mistake" (list $path (printf "the name collides with clusterName %s, the primary itself" $own) $name "rename one of the two")) -}}
          {{- else -}}
            {{- $mistakes = append $mistakes (include "braid.mistake" (list $path (printf "the name collides with that of %s" .) $name "rename one of the two")) -}}
          {{- end -}}
        {{- end -}}
        {{- $_ := set $slugs $slug (index $slugs $slug | default $name) -}}
        {{- $names = append $names $name -}}
      {{- end -}}

      {{- if or (kindIs "invalid" $cluster.authType) (eq (include "braid.text" $cluster.authType) "") -}}
        {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $path ".authType") (print $name " does not say how to authenticate") $cluster.authType "write one of bearerToken, eks, aks, mtls")) -}}
      {{- else if not (has (include "braid.text" $cluster.authType) (list "bearerToken" "eks" "aks" "mtls")) -}}
        {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $path ".authType") "this authType does not exist" $cluster.authType "write one of bearerToken, eks, aks, mtls")) -}}
      {{- end -}}
      {{- if or (include "braid.isStructure" $cluster.server) (regexMatch "^[\\s\\p{Z}\\x{FEFF}]*$" (include "braid.text" $cluster.server)) -}}
        {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $path ".server") (print $name " has no server") $cluster.server "write the URL of its API server, for example https://api.example.com:6443")) -}}
      {{- end -}}
      {{- $flag := include "braid.text" $cluster.isDefault -}}
      {{- if and $cluster.isDefault (not (has $flag (list "true" "false"))) -}}
        {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $path ".isDefault") "isDefault must be true or false" $cluster.isDefault "write true, or leave it out")) -}}
      {{- else if and (eq $flag "true") (not $problem) -}}
        {{- $flagged = append $flagged $name -}}
      {{- end -}}
      {{- range $field := list "bearerToken" "tlsCrt" "tlsKey" -}}
        {{- if include "braid.isStructure" (index $cluster $field) -}}
          {{- $mistakes = append $mistakes (include "braid.mistake" (list (printf "%s.%s" $path $field) (print $field " must be text") "a map or a list" "write the text itself, or make the Secret by hand")) -}}
        {{- end -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}

  {{- range rest $flagged -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list (printf "%s.clusters.%s.isDefault" $at .) (printf "%s is marked as default although %s is already" . (first $flagged)) true "leave isDefault at one cluster only")) -}}
  {{- end -}}
  {{- if include "braid.isStructure" $multi.defaultCluster -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $at ".defaultCluster") "defaultCluster must be text" $multi.defaultCluster "write it in quotes")) -}}
  {{- else if include "braid.text" $multi.defaultCluster -}}
    {{- $named := include "braid.text" $multi.defaultCluster -}}
    {{- if and $flagged (not (has $named $flagged)) -}}
      {{- $mistakes = append $mistakes (include "braid.mistake" (list (printf "%s.clusters.%s.isDefault" $at (first $flagged)) (printf "%s is marked as default but defaultCluster is %s" (first $flagged) $named) true "make the two agree, or leave isDefault out")) -}}
    {{- end -}}
    {{- if eq $named $own -}}
      {{- if $managementOnly -}}
        {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $at ".defaultCluster") "a management-only cluster has no workloads and cannot be its own default" $named "name another cluster, or set managementOnly to false")) -}}
      {{- end -}}
    {{- else if and $names $complete (not (has $named $names)) -}}
      {{- $choices := concat (ternary list (list $own) $managementOnly) $names | join ", " -}}
      {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $at ".defaultCluster") "no cluster has this name" $named (print "name one of " $choices))) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}

{{- range $name, $value := dict "operator.port" $operator.port "agent.port" .Values.agent.port -}}
  {{- $text := include "braid.text" $value -}}
  {{- if and $value (or (not (regexMatch "^[1-9][0-9]{0,4}$" $text)) (gt (int $text) 65535)) -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list $name "it must be a port from 1 to 65535" $value "write for example 443, or leave it out")) -}}
  {{- end -}}
{{- end -}}
{{- $truths := include "braid.truths" . | splitList " " -}}
{{- range $field := list "jsonLog" "requireFrontProxyClientCert" -}}
  {{- if not (has (include "braid.bool" (index $operator $field)) $truths) -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list (print "operator." $field) (print $field " must be true or false") (index $operator $field) "write true or false")) -}}
  {{- end -}}
{{- end -}}
{{- $ownFiles := list -}}
{{- if include "braid.isPrimary" . -}}
  {{- $ownFiles = append $ownFiles "/mirrord-config/multicluster-config.yaml" -}}
  {{- if $multi.clusters -}}{{- $ownFiles = append $ownFiles "/mirrord-config/clusters-config.yaml" -}}{{- end -}}
{{- end -}}
{{- $readsFiles := or (include "braid.isPrimary" .) $operator.extraEnv.MIRRORD_MULTICLUSTER_CONFIG -}}
{{- $times := dict "OPERATOR_LEASE_DURATION_SECS" 15 "OPERATOR_LEASE_RENEW_DEADLINE_SECS" 10 "OPERATOR_LEASE_RETRY_PERIOD_SECS" 2 -}}
{{- $seconds := deepCopy $times -}}
{{- range $name, $value := $operator.extraEnv -}}
  {{- $path := print "operator.extraEnv." $name -}}
  {{- $text := include "braid.text" $value -}}
  {{- $problem := list -}}
  {{- if kindIs "slice" $value -}}
    {{- $problem = list "a variable must be text, or a map with valueFrom" "write the text in quotes" -}}
  {{- else if or (kindIs "map" $value) (contains "$(" $text) -}}
    {{- /* What comes from elsewhere is not known here. */ -}}
    {{- $_ := unset $seconds $name -}}
  {{- else if eq $text "" -}}
    {{- /* The operator takes it for one that is left out. */ -}}
  {{- else if has $name (list "OPERATOR_JSON_LOG" "OPERATOR_REQUIRE_FRONT_PROXY_CLIENT_CERT" "PRIMARY_MANAGEMENT_ONLY") -}}
    {{- if not (has $text $truths) -}}
      {{- $problem = list "it must be true or false" "write true or false" -}}
    {{- end -}}
  {{- else if eq $name "OPERATOR_AGENT_PORT" -}}
    {{- if or (not (regexMatch "^[1-9][0-9]{0,4}$" $text)) (gt (int $text) 65535) -}}
      {{- $problem = list "it must be a port from 1 to 65535" "write for example 61337, or leave it out" -}}
    {{- end -}}
  {{- else if has $name (list "OPERATOR_ADDR" "OPERATOR_FALLBACK_ADDR") -}}
    {{- if or (not (regexMatch "^(\\[[0-9a-fA-F:.]+\\]|[^:\\[\\]]+):[0-9]{1,5}$" $text)) (gt (int (regexFind "[0-9]+$" $text)) 65535) -}}
      {{- $problem = list "it must be an address and a port" "write for example [::]:443 or 0.0.0.0:443" -}}
    {{- end -}}
  {{- else if hasKey $times $name -}}
    {{- if or (not (regexMatch "^[1-9][0-9]{0,4}$" $text)) (gt (int $text) 86400) -}}
      {{- $problem = list "it must be a whole number of seconds from 1 to 86400" (printf "leave it out for %d" (index $times $name)) -}}
      {{- $_ := unset $seconds $name -}}
    {{- else -}}
      {{- $_ := set $seconds $name (int $text) -}}
    {{- end -}}
  {{- else if has $name (list "MIRRORD_MULTICLUSTER_CONFIG" "MIRRORD_CLUSTERS_CONFIG") -}}
    {{- if and $readsFiles (hasPrefix "/mirrord-config/" $text) (not (has $text $ownFiles)) -}}
      {{- $problem = list "the chart makes no such file" "leave it out, set operator.multiCluster, or name a file of your own volume" -}}
    {{- end -}}
  {{- end -}}
  {{- if $problem -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list $path (first $problem) $value (last $problem))) -}}
  {{- end -}}
{{- end -}}
{{- if eq (len $seconds) (len $times) -}}
  {{- with include "braid.leaseTimesProblem" $seconds -}}
    {{- $mistakes = append $mistakes (printf "operator.extraEnv: OPERATOR_LEASE_DURATION_SECS, OPERATOR_LEASE_RENEW_DEADLINE_SECS and OPERATOR_LEASE_RETRY_PERIOD_SECS do not fit together: %s; leave them out for 15, 10 and 2." .) -}}
  {{- end -}}
{{- end -}}
{{- if $mistakes -}}{{- fail (printf "the values cannot be used:\n%s" (join "\n" $mistakes)) -}}{{- end -}}
{{- end -}}

{{/* Why these times cannot be, in the operator's words (lease-times.ts), or nothing: a map of seconds by variable. */}}
{{- define "braid.leaseTimesProblem" -}}
{{- $duration := .OPERATOR_LEASE_DURATION_SECS -}}
{{- $deadline := .OPERATOR_LEASE_RENEW_DEADLINE_SECS -}}
{{- $retry := .OPERATOR_LEASE_RETRY_PERIOD_SECS -}}
{{- if le (mul 10 $deadline) (mul 12 $retry) -}}
the renew deadline is {{ $deadline }} s; it must be more than 1.2 times the retry period of {{ $retry }} s
{{- else if le (int64 $duration) (int64 $deadline) -}}
the lease duration is {{ $duration }} s; it must be longer than the renew deadline of {{ $deadline }} s
{{- end -}}
{{- end -}}
