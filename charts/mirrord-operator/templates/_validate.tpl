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
{{- range $name, $value := $operator.extraEnv -}}
  {{- $path := print "operator.extraEnv." $name -}}
  {{- if kindIs "slice" $value -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list $path "a variable must be text, or a map with valueFrom" $value "write the text in quotes")) -}}
  {{- else if not (or (kindIs "map" $value) (kindIs "invalid" $value)) -}}
    {{- $text := include "braid.text" $value -}}
    {{- if has $name (list "OPERATOR_JSON_LOG" "OPERATOR_REQUIRE_FRONT_PROXY_CLIENT_CERT" "PRIMARY_MANAGEMENT_ONLY") -}}
      {{- if not (has $text $truths) -}}
        {{- $mistakes = append $mistakes (include "braid.mistake" (list $path "it must be true or false" $value "write true or false")) -}}
      {{- end -}}
    {{- else if eq $name "OPERATOR_AGENT_PORT" -}}
      {{- if or (not (regexMatch "^[1-9][0-9]{0,4}$" $text)) (gt (int $text) 65535) -}}
        {{- $mistakes = append $mistakes (include "braid.mistake" (list $path "it must be a port from 1 to 65535" $value "write for example 61337, or leave it out")) -}}
      {{- end -}}
    {{- else if and (has $name (list "OPERATOR_ADDR" "OPERATOR_FALLBACK_ADDR")) (not (contains "$(" $text)) -}}
      {{- if not (regexMatch "^(\\[[0-9a-fA-F:.]+\\]|[^:\\[\\]]+):[0-9]{1,5}$" $text) -}}
        {{- $mistakes = append $mistakes (include "braid.mistake" (list $path "it must be an address and a port" $value "write for example [::]:443 or 0.0.0.0:443")) -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- if $mistakes -}}{{- fail (printf "the values cannot be used:\n%s" (join "\n" $mistakes)) -}}{{- end -}}
{{- end -}}
