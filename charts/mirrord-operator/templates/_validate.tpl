{{/*
A sentence for everything that the operator would refuse at its start, as a list in YAML: the rules of parse-configuration.ts and
parse-members.ts, and of the variables that settings.ts reads. Beside it what the operator would take and no session could use: a server
without https, a CA that is none, no default cluster. What may come later (credentials, CA, region, roles) is no mistake; NOTES list it.
*/}}
{{- define "braid.mistakes" -}}
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

  {{- $ownSlug := include "braid.slug" $own -}}
  {{- /* A renewed token is in a Secret of its own. */ -}}
  {{- $slugs := dict $ownSlug $own (print $ownSlug "-refreshed") $own -}}
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
        {{- $refreshed := print $slug "-refreshed" -}}
        {{- with index $slugs $slug | default (index $slugs $refreshed) -}}
          {{- if eq . $own -}}
            {{- $mistakes = append $mistakes (include "braid.mistake" (list $path (printf "the name collides with clusterName %s, the primary itself" $own) $name "rename one of the two")) -}}
          {{- else -}}
            {{- $mistakes = append $mistakes (include "braid.mistake" (list $path (printf "the name collides with that of %s" .) $name "rename one of the two")) -}}
          {{- end -}}
        {{- end -}}
        {{- range $taken := list $slug $refreshed -}}
          {{- $_ := set $slugs $taken (index $slugs $taken | default $name) -}}
        {{- end -}}
        {{- $names = append $names $name -}}
      {{- end -}}

      {{- if or (kindIs "invalid" $cluster.authType) (eq (include "braid.text" $cluster.authType) "") -}}
        {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $path ".authType") (print $name " does not say how to authenticate") $cluster.authType "write one of bearerToken, eks, aks, mtls, outbound")) -}}
      {{- else if not (has (include "braid.text" $cluster.authType) (list "bearerToken" "eks" "aks" "mtls" "outbound")) -}}
        {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $path ".authType") "this authType does not exist" $cluster.authType "write one of bearerToken, eks, aks, mtls, outbound")) -}}
      {{- end -}}
      {{- if eq (include "braid.text" $cluster.authType) "outbound" -}}
        {{- if $cluster.server -}}
          {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $path ".server") "a cluster that dials out is not dialled" $cluster.server "leave server out")) -}}
        {{- end -}}
        {{- if not (include "braid.isCell" $) -}}
          {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $path ".authType") (print $name " dials this primary, which takes no tunnels") "outbound" "set operator.cell.enabled")) -}}
        {{- end -}}
      {{- else if or (include "braid.isStructure" $cluster.server) (regexMatch "^[\\s\\p{Z}\\x{FEFF}]*$" (include "braid.text" $cluster.server)) -}}
        {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $path ".server") (print $name " has no server") $cluster.server "write the URL of its API server, for example https://api.example.com:6443")) -}}
      {{- else if not (regexMatch "^\\s*(?i:https)://([0-9A-Za-z_.-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?(/[!-~]*)?\\s*$" (include "braid.text" $cluster.server)) -}}
        {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $path ".server") (print "the server of " $name " must be an https URL without a user") $cluster.server "write for example https://api.example.com:6443")) -}}
      {{- end -}}
      {{- if include "braid.isStructure" $cluster.caData -}}
        {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $path ".caData") "caData must be text" "a map or a list" "write the PEM of the API server's CA, or base64 of it")) -}}
      {{- else if and $cluster.caData (not (include "braid.isPem" $cluster.caData)) -}}
        {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $path ".caData") "it is no certificate" "something else" "write the PEM of the API server's CA, or base64 of it")) -}}
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

  {{- if not (has (kindOf $multi.providers) (list "invalid" "slice")) -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $at ".providers") "providers must be a list" $multi.providers "write for example [kubeconfigSecrets]")) -}}
  {{- else -}}
    {{- range $index, $found := $multi.providers -}}
      {{- if not (has $found (list "kubeconfigSecrets" "kubeconfigFile" "kubeconfigDirectory" "clusterApi" "clusterProfile")) -}}
        {{- $mistakes = append $mistakes (include "braid.mistake" (list (printf "%s.providers[%d]" $at $index) "this provider does not exist" $found "write kubeconfigSecrets, kubeconfigFile, kubeconfigDirectory, clusterApi or clusterProfile")) -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
  {{- range $provider, $variable := dict "kubeconfigFile" "OPERATOR_KUBECONFIG_FILE" "kubeconfigDirectory" "OPERATOR_KUBECONFIG_DIRECTORY" -}}
    {{- $field := print $provider "Secret" -}}
    {{- $secret := index $multi $field -}}
    {{- if $secret -}}
      {{- if or (not (kindIs "string" $secret)) (include "braid.objectNamesProblem" (list $secret)) -}}
        {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $at "." $field) "it must be the name of a Secret" $secret "write its name")) -}}
      {{- end -}}
    {{- else if and (kindIs "slice" $multi.providers) (has $provider $multi.providers) (not (index $operator.extraEnv $variable)) -}}
      {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $at "." $field) (print "provider " $provider " needs a Secret") $secret "write its name")) -}}
    {{- end -}}
  {{- end -}}
  {{- $mistakes = concat $mistakes (include "braid.accessProviderMistakes" (list (print $at ".accessProviders") $multi.accessProviders) | fromYamlArray) -}}
  {{- if and (not $mistakes) (or $names (and $multi.providers $managementOnly)) (not $flagged) (kindIs "map" $multi.clusters) (eq (include "braid.text" $multi.defaultCluster) "") -}}
    {{- $choices := concat (ternary list (list $own) $managementOnly) $names -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $at ".defaultCluster") "no session can start without a default cluster" $multi.defaultCluster (ternary (print "name one of " (join ", " $choices)) "name the cluster that is to be it" (gt (len $choices) 0)))) -}}
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
    {{- else if and $names $complete (not $multi.providers) (not (has $named $names)) -}}
      {{- $choices := concat (ternary list (list $own) $managementOnly) $names | join ", " -}}
      {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $at ".defaultCluster") "no cluster has this name" $named (print "name one of " $choices))) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}

{{- if include "braid.isOutpost" . -}}
  {{- $outbound := $operator.outbound -}}
  {{- if not $outbound.cell -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list "operator.outbound.cell" "there is no address to dial" $outbound.cell "write for example cell.example.com:8443")) -}}
  {{- end -}}
  {{- range $field := list "bootstrap" "pin" -}}
    {{- if and $outbound.token (not (index $outbound $field)) -}}
      {{- $mistakes = append $mistakes (include "braid.mistake" (list (print "operator.outbound." $field) "a token needs it" (index $outbound $field) "write what braid join --outbound has printed")) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}

{{- if and (has (include "braid.text" .Values.dashboard.ingress.enabled) (include "braid.trueWords" . | splitList " ")) (not (include "braid.on" .Values.dashboard.enabled)) -}}
  {{- $mistakes = append $mistakes (include "braid.mistake" (list "dashboard.ingress.enabled" "without records of use there is no page" .Values.dashboard.ingress.enabled "set dashboard.enabled to true as well")) -}}
{{- end -}}
{{- if include "braid.hasDashboard" . -}}
  {{- $dashboard := .Values.dashboard -}}
  {{- range $row := list (list "ingress.host" "browsers need a name of the page" "write for example mirrord.example.com") (list "oidc.issuer" "people log in there" "write for example https://login.example.com") (list "oidc.clientId" "the provider must know the page" "write the page's name at the provider") (list "oidc.secret" "the provider must know the page" "write the name of a Secret with the key clientSecret") -}}
    {{- $value := index $dashboard (splitList "." (first $row) | first) (splitList "." (first $row) | last) -}}
    {{- if eq (include "braid.text" $value) "" -}}
      {{- $mistakes = append $mistakes (include "braid.mistake" (list (print "dashboard." (first $row)) (index $row 1) $value (last $row))) -}}
    {{- end -}}
  {{- end -}}
  {{- if not (or $dashboard.oidc.groups $dashboard.oidc.emails) -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list "dashboard.oidc.groups" "the page would show nothing to anyone" $dashboard.oidc.groups "list groups, or people in dashboard.oidc.emails")) -}}
  {{- end -}}
{{- end -}}

{{- if include "braid.takesPeople" . -}}
  {{- range $group := .Values.operator.outbound.proxy.groups -}}
    {{- $name := include "braid.peopleGroup" (list $ $group) -}}
    {{- if and (hasPrefix "system:" $name) (ne $name "system:authenticated") -}}
      {{- $mistakes = append $mistakes (include "braid.mistake" (list "operator.outbound.proxy.groups" (print "group " $name " is this cluster's own") $group "name groups of people, or write operator.outbound.proxy.prefix primary:")) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}

{{- $settings := include "braid.settings" . | fromYaml -}}
{{- range $name, $value := include "braid.settingValues" . | fromJson -}}
  {{- $setting := index $settings $name -}}
  {{- if and $setting.pattern (or (not $setting.separator) (has $setting.form (list "ranges" "groups" "extraKeys" "scopes" "emails"))) (ne $setting.form "truth") -}}
    {{- $text := kindIs "slice" $value | ternary (join "," $value) (include "braid.text" $value) -}}
    {{- with include "braid.formProblem" (list $setting $text) -}}
      {{- $mistakes = append $mistakes (include "braid.mistake" (list $setting.value . $value $setting.cure)) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- if or (not (regexMatch "^[1-9][0-9]{0,4}$" (include "braid.text" $operator.port))) (gt (int (include "braid.text" $operator.port)) 65535) -}}
  {{- $mistakes = append $mistakes (include "braid.mistake" (list "operator.port" "it must be a port from 1 to 65535" $operator.port "write for example 443, or leave it out")) -}}
{{- end -}}
{{- range $path, $found := dict "operator.imagePullSecrets" $operator.imagePullSecrets "agent.extraConfig.image_pull_secrets" (index .Values.agent.extraConfig "image_pull_secrets") -}}
  {{- if not (or (kindIs "invalid" $found) (kindIs "slice" $found)) -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list $path "it must be a list" $found "write it as a list")) -}}
    {{- $found = list -}}
  {{- end -}}
  {{- range $index, $secret := $found -}}
    {{- $name := ternary (get (kindIs "map" $secret | ternary $secret dict) "name") "" (kindIs "map" $secret) -}}
    {{- if include "braid.objectNamesProblem" (list $name) -}}
      {{- $mistakes = append $mistakes (include "braid.mistake" (list (printf "%s[%d]" $path $index) "it must be a map with the name of a Secret" $secret "write for example {name: registry}")) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- $agents := include "braid.agentConfiguration" . | fromYaml -}}
{{- range $name, $shape := include "braid.agentFields" . | fromYaml -}}
  {{- $path := printf "agent.%s%s" (ternary "extraConfig." "" (hasKey $.Values.agent.extraConfig $name)) $name -}}
  {{- if not (or (kindIs "invalid" (index $agents $name)) (has $shape.kind (list "name" "references"))) -}}
    {{- $mistakes = concat $mistakes (include "braid.agentFieldMistakes" (list $path $shape (index $agents $name)) | trim | splitList "\n" | compact) -}}
  {{- end -}}
{{- end -}}
{{- range $name, $value := .Values.agent.extraEnv -}}
  {{- if or (include "braid.isStructure" $value) (not (regexMatch "^[ -<>-~]+$" $name)) -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list (print "agent.extraEnv." $name) "a variable must have a name and be text" $value "write the text in quotes")) -}}
  {{- else if and (eq $name "AGENT_OPERATOR_CERT_ENV") (not (kindIs "invalid" $value)) -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list (print "agent.extraEnv." $name) "the operator makes this certificate itself" $value "leave it out, and set agent.tls")) -}}
  {{- end -}}
{{- end -}}
{{- range $path, $found := dict "targets.allowedNamespaces" .Values.targets.allowedNamespaces "roleNamespaces" .Values.roleNamespaces -}}
  {{- if and $found (not (kindIs "slice" $found)) -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list $path "it must be a list of names" $found "write for example [kube-system]")) -}}
  {{- else -}}
    {{- range $found -}}
      {{- if not (regexMatch "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$" (include "braid.text" .)) -}}
        {{- $mistakes = append $mistakes (include "braid.mistake" (list $path "this cannot be the name of a namespace" . "write names such as kube-system")) -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- $collector := include "braid.text" $operator.otelTraceExportUrl -}}
{{- if and $collector (not (contains "$(" $collector)) -}}
  {{- with include "braid.formProblem" (list $settings.OTLP_TRACES_URL $collector) -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list "operator.otelTraceExportUrl" . $operator.otelTraceExportUrl $settings.OTLP_TRACES_URL.cure)) -}}
  {{- end -}}
{{- end -}}
{{- $truths := include "braid.truths" . | splitList " " -}}
{{- range $field := list "jsonLog" "metrics" "requireFrontProxyClientCert" -}}
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
  {{- else if eq $name "OPERATOR_AGENT_EXTRA_ENV" -}}
    {{- if include "braid.extraEnvironmentProblem" $text -}}
      {{- $problem = list "it must be variables as a JSON object" "write for example {\"NAME\":\"value\"}" -}}
    {{- else if not (kindIs "invalid" (index (fromJson $text) "AGENT_OPERATOR_CERT_ENV")) -}}
      {{- $problem = list "the operator makes AGENT_OPERATOR_CERT_ENV itself" "leave it out, and set agent.tls" -}}
    {{- end -}}
  {{- else if eq $name "OPERATOR_AGENT_CONFIG" -}}
    {{- if and (hasPrefix "/mirrord-config/" $text) (ne $text "/mirrord-config/agent-config.yaml") -}}
      {{- $problem = list "the chart makes no such file" "leave it out, or name a file of your own volume" -}}
    {{- end -}}
  {{- else if eq $name "OPERATOR_ACCESS_PROVIDERS" -}}
    {{- if and (hasPrefix "/mirrord-config/" $text) (not (and (include "braid.isPrimary" $) $multi.accessProviders (eq $text "/mirrord-config/access-providers.yaml"))) -}}
      {{- $problem = list "the chart makes no such file" "leave it out, set operator.multiCluster.accessProviders, or name a file of your own volume" -}}
    {{- end -}}
  {{- else if has $name (list "MIRRORD_MULTICLUSTER_CONFIG" "MIRRORD_CLUSTERS_CONFIG") -}}
    {{- if and $readsFiles (hasPrefix "/mirrord-config/" $text) (not (has $text $ownFiles)) -}}
      {{- $problem = list "the chart makes no such file" "leave it out, set operator.multiCluster, or name a file of your own volume" -}}
    {{- end -}}
  {{- else if (index $settings $name | default dict).pattern -}}
    {{- with include "braid.formProblem" (list (index $settings $name) $text) -}}
      {{- $problem = list . (index $settings $name).cure -}}
    {{- end -}}
  {{- end -}}
  {{- if hasKey $times $name -}}
    {{- if $problem -}}{{- $_ := unset $seconds $name -}}
    {{- else if hasKey $seconds $name -}}{{- with $text -}}{{- $_ := set $seconds $name (int .) -}}{{- end -}}
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
{{- $pairs := list (list "OPERATOR_TLS_CERT_PATH" "OPERATOR_TLS_KEY_PATH" "a certificate that is made at each start") -}}
{{- $pairs = append $pairs (list "OPERATOR_POD_NAME" "OPERATOR_POD_UID" "an operator that elects no leader") -}}
{{- range $pair := $pairs -}}
  {{- $set := list -}}
  {{- $missing := list -}}
  {{- range $name := initial $pair -}}
    {{- $value := index $operator.extraEnv $name -}}
    {{- $text := include "braid.text" $value -}}
    {{- $isOwn := or (hasPrefix "OPERATOR_POD" $name) (include "braid.hasTlsSecret" $) -}}
    {{- if or (kindIs "map" $value) (kindIs "slice" $value) (contains "$(" $text) -}}
      {{- /* What comes from elsewhere is not known here. */ -}}
    {{- else if or (ne $text "") (and (kindIs "invalid" $value) $isOwn) -}}
      {{- $set = append $set $name -}}
    {{- else -}}
      {{- $missing = append $missing $name -}}
    {{- end -}}
  {{- end -}}
  {{- if and $set $missing -}}
    {{- $mistakes = append $mistakes (printf "operator.extraEnv: %s is set, but %s is not; set both, or neither for %s." (first $set) (first $missing) (last $pair)) -}}
  {{- end -}}
{{- end -}}
{{- if and (include "braid.servesMetrics" .) (eq (include "braid.apiPort" .) (include "braid.metricsPort" .)) (ne (include "braid.metricsPort" .) "0") -}}
  {{- $mistakes = append $mistakes (printf "operator: OPERATOR_METRICS_ADDR and OPERATOR_ADDR have the same port, %s; give metrics another port." (include "braid.metricsPort" .)) -}}
{{- end -}}
{{- if or (include "braid.isCell" .) (include "braid.hasDashboard" .) -}}
  {{- $taken := dict (include "braid.apiPort" .) "OPERATOR_ADDR" -}}
  {{- if include "braid.servesMetrics" . -}}{{- $_ := set $taken (include "braid.metricsPort" .) "OPERATOR_METRICS_ADDR" -}}{{- end -}}
  {{- $wanted := include "braid.settingValues" . | fromJson -}}
  {{- if include "braid.hasDashboard" . -}}{{- $_ := set $wanted "OPERATOR_DASHBOARD_PORT" (include "braid.dashboardPort" .) -}}{{- end -}}
  {{- range $name := list "OPERATOR_CELL_PORT" "OPERATOR_CELL_BOOTSTRAP_PORT" "OPERATOR_CELL_WEBSOCKET_PORT" "OPERATOR_DASHBOARD_PORT" -}}
    {{- $port := index $operator.extraEnv $name | default (index $wanted $name) | include "braid.text" -}}
    {{- with and $port (index $taken $port) -}}
      {{- $mistakes = append $mistakes (printf "operator: %s and %s have the same port, %s; give %s another port." $name . $port $name) -}}
    {{- end -}}
    {{- $_ := set $taken $port $name -}}
  {{- end -}}
{{- end -}}
{{- $postgres := .Values.usage.postgres -}}
{{- if and $postgres.secret .Values.usage.persistence.existingClaim -}}
  {{- $mistakes = append $mistakes (include "braid.mistake" (list "usage.persistence.existingClaim" "records in PostgreSQL have no volume" .Values.usage.persistence.existingClaim "leave it or usage.postgres.secret empty")) -}}
{{- end -}}
{{- if and $postgres.caKey (not $postgres.secret) -}}
  {{- $mistakes = append $mistakes (include "braid.mistake" (list "usage.postgres.caKey" "it is a key of usage.postgres.secret, which is empty" $postgres.caKey "name the Secret, or leave the key empty")) -}}
{{- end -}}
{{- if and (has (include "braid.text" .Values.dashboard.enabled) $truths) (include "braid.hasUsageVolume" .) (not (has (include "braid.text" $operator.replicas) (list "0" "1"))) -}}
  {{- $mistakes = append $mistakes (include "braid.mistake" (list "operator.replicas" "a volume of records is mounted in one pod" $operator.replicas "write 1, name a PostgreSQL database in usage.postgres.secret, or leave dashboard.enabled false")) -}}
{{- end -}}
{{- with include "braid.usageRoom" . -}}
  {{- $mistakes = append $mistakes (include "braid.mistake" (list "usage.maxMebibytes" "beside the records SQLite needs a tenth of usage.persistence.size, and 8 MiB at least" $.Values.usage.maxMebibytes (printf "write %s or less, or give the volume more" .))) -}}
{{- end -}}
{{- toYaml $mistakes -}}
{{- end -}}

{{/* How many MiB records of use may take, if that is less than what is given. Of another's claim the size is not known. */}}
{{- define "braid.usageRoom" -}}
{{- $usage := .Values.usage -}}
{{- $size := include "braid.text" $usage.persistence.size -}}
{{- $given := include "braid.text" $usage.maxMebibytes -}}
{{- $isUsed := and (eq (include "braid.text" .Values.dashboard.enabled) "true") (not $usage.persistence.existingClaim) (not $usage.postgres.secret) -}}
{{- if and $isUsed (not (include "braid.kindProblem" (list "quantity" $usage.persistence.size))) $size (regexMatch "^[0-9]{1,9}$" $given) -}}
  {{- $whole := include "braid.mebibytes" $size | float64 -}}
  {{- $room := max 0 (min (mulf 0.9 $whole | floor | int64) (sub (floor $whole | int64) 8)) -}}
  {{- if gt (int64 $given) $room -}}{{- $room -}}{{- end -}}
{{- end -}}
{{- end -}}

{{/* A line for each mistake in a setting of agents, by the rules of agent-fields.ts: list of path, shape and value. */}}
{{- define "braid.agentFieldMistakes" -}}
{{- $path := index . 0 -}}
{{- $shape := index . 1 -}}
{{- $value := index . 2 -}}
{{- $kind := kindOf $value -}}
{{- $problem := list -}}
{{- if eq $shape.kind "text" -}}
  {{- if ne $kind "string" -}}{{- $problem = list "it must be text" "write it in quotes" -}}{{- end -}}
{{- else if eq $shape.kind "truth" -}}
  {{- if ne $kind "bool" -}}{{- $problem = list "it must be true or false" "write true or false without quotes" -}}{{- end -}}
{{- else if eq $shape.kind "quantity" -}}
  {{- if not (has $kind (list "string" "float64")) -}}{{- $problem = list "it must be a quantity" "write for example 100Mi" -}}{{- end -}}
{{- else if eq $shape.kind "image" -}}
  {{- if not (has $kind (list "string" "map")) -}}{{- $problem = list "it must be text, or a map of registry and tag" "write it in quotes" -}}{{- end -}}
{{- else if eq $shape.kind "whole" -}}
  {{- $isRight := false -}}
  {{- if eq $kind "float64" -}}{{- $isRight = and (eq $value (floor $value)) (ge $value $shape.least) (le $value $shape.most) -}}{{- end -}}
  {{- if not $isRight -}}
    {{- $problem = list (printf "it must be a whole number from %s to %s" (include "braid.text" $shape.least) (include "braid.text" $shape.most)) "write it without quotes" -}}
  {{- end -}}
{{- else if eq $shape.kind "words" -}}
  {{- if not (has $value $shape.words) -}}{{- $problem = list (printf "it must be one of %s" (join ", " $shape.words)) "write one of them" -}}{{- end -}}
{{- else if eq $shape.kind "list" -}}
  {{- if ne $kind "slice" -}}{{- $problem = list "it must be a list" "write it as a list" -}}{{- end -}}
{{- else if ne $kind "map" -}}
  {{- $problem = list "it must be a map" "write keys below it" -}}
{{- end -}}
{{- if $problem -}}
  {{- include "braid.mistake" (list $path (first $problem) $value (last $problem)) }}{{ "\n" -}}
{{- else if eq $kind "slice" -}}
  {{- range $index, $item := $value -}}
    {{- include "braid.agentFieldMistakes" (list (printf "%s[%d]" $path $index) $shape.of $item) -}}
  {{- end -}}
{{- else if eq $kind "map" -}}
  {{- range $name, $item := $value -}}
    {{- $at := printf "%s.%s" $path $name -}}
    {{- if eq $shape.kind "map" -}}
      {{- if not (kindIs "invalid" $item) -}}{{- include "braid.agentFieldMistakes" (list $at $shape.of $item) -}}{{- end -}}
    {{- else if not (hasKey $shape.fields $name) -}}
      {{- include "braid.mistake" (list $at "there is no such field" $item (printf "write one of %s" (keys $shape.fields | sortAlpha | join ", "))) }}{{ "\n" -}}
    {{- else if not (kindIs "invalid" $item) -}}
      {{- include "braid.agentFieldMistakes" (list $at (index $shape.fields $name) $item) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/* "true" if the text is no JSON object of variables. */}}
{{- define "braid.extraEnvironmentProblem" -}}
{{- $found := fromJson . -}}
{{- if or (not (regexMatch "^\\s*\\{" .)) (and (hasKey $found "Error") (not (contains "\"Error\"" .))) -}}true{{- end -}}
{{- range $name, $value := $found -}}
  {{- if or (include "braid.isStructure" $value) (not (regexMatch "^[ -<>-~]+$" $name)) -}}true{{- end -}}
{{- end -}}
{{- end -}}

{{/* "true" for PEM, or base64 of it. Whether the certificate in it is good, the operator says. */}}
{{- define "braid.isPem" -}}
{{- $text := include "braid.text" . -}}
{{- $bare := regexReplaceAll "\\s+" $text "" | trimSuffix "=" | trimSuffix "=" -}}
{{- $padded := print $bare (trunc (int (mod (sub 4 (mod (len $bare) 4)) 4)) "===") -}}
{{- if contains "-----BEGIN" (print $text (b64dec $padded)) -}}true{{- end -}}
{{- end -}}

{{/* "true" if a text of the list can be no object's name. */}}
{{- define "braid.objectNamesProblem" -}}
{{- range . -}}
  {{- $text := "" -}}
  {{- if not (include "braid.isStructure" .) -}}{{- $text = include "braid.text" . -}}{{- end -}}
  {{- if not (and (le (len $text) 253) (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$" $text)) -}}true{{- end -}}
{{- end -}}
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

{{/* Why a text has not the form of a setting, or nothing: list of the setting and the text. */}}
{{- define "braid.formProblem" -}}
{{- $setting := index . 0 -}}
{{- $text := index . 1 -}}
{{- $isRight := true -}}
{{- range $part := ternary (splitList "," $text) (list $text) (hasKey $setting "separator") -}}
  {{- if or (not (regexMatch $setting.pattern $part)) (gt (len $part) (int ($setting.maxLength | default 1000000))) -}}{{- $isRight = false -}}{{- end -}}
{{- end -}}
{{- if and $isRight $setting.max -}}
  {{- if gt (int64 (regexFind ($setting.number | default "^.*$") $text)) (int64 $setting.max) -}}{{- $isRight = false -}}{{- end -}}
{{- end -}}
{{- if not $isRight -}}it must be {{ $setting.must }}{{- end -}}
{{- end -}}

{{/*
The mistakes of access providers, as the operator finds them in their file: list of their path and the value. Arguments
and variables are not told, as they may be secrets.
*/}}
{{- define "braid.accessProviderMistakes" -}}
{{- $path := index . 0 -}}
{{- $mistakes := list -}}
{{- $providers := index . 1 -}}
{{- if not (has (kindOf $providers) (list "invalid" "slice")) -}}
  {{- $mistakes = append $mistakes (include "braid.mistake" (list $path "it must be a list" "something else" "write an entry with name and execConfig for each")) -}}
  {{- $providers = list -}}
{{- end -}}
{{- $names := list -}}
{{- range $index, $found := $providers -}}
  {{- $at := printf "%s[%d]" $path $index -}}
  {{- if not (kindIs "map" $found) -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list $at "it must be a map" "something else" "write name and execConfig")) -}}
  {{- else -}}
    {{- range $field := without (keys $found | sortAlpha) "name" "execConfig" "profileSourcedCLIArgsPolicy" "profileSourcedEnvVarsPolicy" -}}
      {{- $mistakes = append $mistakes (include "braid.mistake" (list (printf "%s.%s" $at $field) "there is no such field" "something else" "leave it out")) -}}
    {{- end -}}
    {{- if not (and (kindIs "string" $found.name) $found.name) -}}
      {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $at ".name") "it must be text" $found.name "write the name by which profiles offer access")) -}}
    {{- else if has $found.name $names -}}
      {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $at ".name") "an entry before has this name" $found.name "name each provider once")) -}}
    {{- end -}}
    {{- $names = append $names $found.name -}}
    {{- range $field := list "profileSourcedCLIArgsPolicy" "profileSourcedEnvVarsPolicy" -}}
      {{- $policy := index $found $field -}}
      {{- if not (or (kindIs "invalid" $policy) (and (kindIs "string" $policy) (eq (toString $policy) "Ignore"))) -}}
        {{- $mistakes = append $mistakes (include "braid.mistake" (list (printf "%s.%s" $at $field) "it must be Ignore" $policy "leave it out; nothing that a ClusterProfile says becomes an argument or a variable of a program")) -}}
      {{- end -}}
    {{- end -}}
    {{- $mistakes = concat $mistakes (include "braid.execConfigMistakes" (list (print $at ".execConfig") $found.execConfig) | fromYamlArray) -}}
  {{- end -}}
{{- end -}}
{{- toYaml $mistakes -}}
{{- end -}}

{{/* The mistakes of one program: list of its path and the value. */}}
{{- define "braid.execConfigMistakes" -}}
{{- $at := index . 0 -}}
{{- $exec := index . 1 -}}
{{- $mistakes := list -}}
{{- if not (kindIs "map" $exec) -}}
  {{- $mistakes = append $mistakes (include "braid.mistake" (list $at "it must be a map" "something else" "write at least apiVersion and command")) -}}
{{- else -}}
  {{- range $field := without (keys $exec | sortAlpha) "apiVersion" "command" "args" "env" "provideClusterInfo" "interactiveMode" "installHint" -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list (printf "%s.%s" $at $field) "there is no such field" "something else" "leave it out")) -}}
  {{- end -}}
  {{- if not (has $exec.apiVersion (list "client.authentication.k8s.io/v1" "client.authentication.k8s.io/v1beta1")) -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $at ".apiVersion") "it must be client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1" $exec.apiVersion "write the version that the program speaks")) -}}
  {{- end -}}
  {{- $command := $exec.command -}}
  {{- if not (and (kindIs "string" $command) $command (or (hasPrefix "/" (toString $command)) (not (contains "/" (toString $command))))) -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $at ".command") "it must be an absolute path, or a name in PATH" $command "write the program's absolute path in the operator's pod")) -}}
  {{- end -}}
  {{- $right := has (kindOf $exec.args) (list "invalid" "slice") -}}
  {{- if kindIs "slice" $exec.args -}}
    {{- range $exec.args -}}{{- $right = and $right (kindIs "string" .) -}}{{- end -}}
  {{- end -}}
  {{- if not $right -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $at ".args") "it must be a list of texts" "something else" "write numbers and switches in quotes")) -}}
  {{- end -}}
  {{- $right = has (kindOf $exec.env) (list "invalid" "slice") -}}
  {{- if kindIs "slice" $exec.env -}}
    {{- range $exec.env -}}
      {{- $variable := kindIs "map" . | ternary . dict -}}
      {{- $right = and $right (kindIs "string" $variable.name) (regexMatch "^[^=]+$" (toString $variable.name)) (or (not (hasKey $variable "value")) (kindIs "string" $variable.value)) -}}
    {{- end -}}
  {{- end -}}
  {{- if not $right -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $at ".env") "it must be a list of name and value" "something else" "write both as texts")) -}}
  {{- end -}}
  {{- if not (has (kindOf $exec.provideClusterInfo) (list "invalid" "bool")) -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $at ".provideClusterInfo") "it must be true or false" $exec.provideClusterInfo "leave it out for false")) -}}
  {{- end -}}
  {{- if not (or (kindIs "invalid" $exec.interactiveMode) (has $exec.interactiveMode (list "Never" "IfAvailable"))) -}}
    {{- $mistakes = append $mistakes (include "braid.mistake" (list (print $at ".interactiveMode") "it must be Never or IfAvailable" $exec.interactiveMode "the operator has no terminal; leave it out")) -}}
  {{- end -}}
{{- end -}}
{{- toYaml $mistakes -}}
{{- end -}}
