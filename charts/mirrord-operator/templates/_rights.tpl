{{/* The conditions of rights (src/domain/catalogue/right.ts), in YAML: each that does not hold is null. */}}
{{- define "braid.rightConditions" -}}
{{- $operator := .Values.operator -}}
{{- $primary := include "braid.isPrimary" . -}}
{{- $providers := list -}}
{{- if and $primary (kindIs "slice" $operator.multiCluster.providers) -}}{{- $providers = $operator.multiCluster.providers -}}{{- end -}}
agentJobs: {{ if not (include "braid.hasEphemeralAgents" .) }}{{ include "braid.hasAgents" . }}{{ end }}
asksNodes: {{ include "braid.asksNodes" . }}
branches: {{ include "braid.makesBranches" . }}
branching: {{ include "braid.anyBranching" . }}
clusterApi: {{ if has "clusterApi" $providers }}true{{ end }}
clusterProfile: {{ if has "clusterProfile" $providers }}true{{ end }}
copies: {{ include "braid.copiesTargets" . }}
ephemeralAgents: {{ include "braid.hasEphemeralAgents" . }}
hasBranches: {{ include "braid.hasBranches" . }}
literalCredentials: {{ include "braid.on" $operator.dbBranchingLiteralCredentials }}
memberAccount: {{ include "braid.hasMemberAccount" . }}
mongodbBranching: {{ include "braid.on" $operator.mongodbBranching }}
mysqlBranching: {{ include "braid.on" $operator.mysqlBranching }}
openshift: {{ include "braid.on" .Values.openshift }}
orderedBranches: {{ include "braid.copiesBranches" . }}
ownCertificate: {{ include "braid.keepsCertificate" . }}
people: {{ include "braid.takesPeople" . }}
pgBranching: {{ include "braid.on" $operator.pgBranching }}
previews: {{ include "braid.on" $operator.previewEnv }}
primary: {{ $primary }}
publishedWidth: {{ if include "braid.isMember" . }}{{ include "braid.on" .Values.rbac.publishedWidth }}{{ end }}
renewsTokens: {{ if include "braid.renewedClusters" . }}true{{ end }}
servedEngine: {{ include "braid.anyBranched" . }}
splitting: {{ include "braid.anySplitting" . }}
sqsSplitting: {{ include "braid.on" $operator.sqsSplitting }}
workloads: {{ include "braid.hasAgents" . }}
{{- end -}}

{{/* The clusters whose tokens a primary renews, as DNS labels, separated by spaces. */}}
{{- define "braid.renewedClusters" -}}
{{- $slugs := list -}}
{{- if include "braid.isPrimary" . -}}
  {{- range $name, $found := .Values.operator.multiCluster.clusters -}}
    {{- if and (kindIs "map" $found) (eq (include "braid.text" (dig "authType" "" $found)) "bearerToken") -}}
      {{- $slugs = append $slugs (include "braid.slug" $name) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- join " " $slugs -}}
{{- end -}}

{{/* The rules of roles by holder and scope, as JSON: those of files/rights.yaml whose conditions hold. */}}
{{- define "braid.rights" -}}
{{- $root := . -}}
{{- $conditions := include "braid.rightConditions" . | fromYaml -}}
{{- $given := .Files.Get "files/rights.yaml" | fromYaml -}}
{{- range $scopes := $given -}}
  {{- range $scope, $all := $scopes -}}
    {{- $rules := list -}}
    {{- range $rule := $all -}}
      {{- $holds := true -}}
      {{- range $rule.when -}}{{- if not (index $conditions .) -}}{{- $holds = false -}}{{- end -}}{{- end -}}
      {{- with $rule.whileOn -}}{{- if not (include "braid.on" (include "braid.at" (list $root .) | fromJson).value) -}}{{- $holds = false -}}{{- end -}}{{- end -}}
      {{- if $holds -}}
        {{- $resources := list -}}
        {{- range $resource := $rule.resources -}}
          {{- if contains "<extra-key>" $resource -}}
            {{- range $key := $root.Values.operator.outbound.proxy.extraKeys -}}{{- $resources = append $resources (replace "<extra-key>" (include "braid.text" $key) $resource) -}}{{- end -}}
          {{- else -}}{{- $resources = append $resources $resource -}}
          {{- end -}}
        {{- end -}}
        {{- $names := list -}}
        {{- range $name := $rule.resourceNames -}}
          {{- if eq "<people-group>" $name -}}
            {{- range $group := $root.Values.operator.outbound.proxy.groups -}}
              {{- $here := include "braid.peopleGroup" (list $root $group) -}}
              {{- /* Whom the API server has authenticated is in this one, and nobody has to act as it. */ -}}
              {{- if ne $here "system:authenticated" -}}{{- $names = append $names $here -}}{{- end -}}
            {{- end -}}
          {{- else if contains "<cluster>" $name -}}
            {{- range $slug := include "braid.renewedClusters" $root | splitList " " -}}{{- $names = append $names (replace "<cluster>" $slug $name) -}}{{- end -}}
          {{- else -}}{{- $names = append $names $name -}}
          {{- end -}}
        {{- end -}}
        {{- /* A rule without names would hold for all objects. */ -}}
        {{- if and $resources (or $names (not $rule.resourceNames)) -}}
          {{- $rules = append $rules (omit $rule "when" "whileOn" "resourceNames" "resources" | merge (dict "resources" $resources) (ternary dict (dict "resourceNames" $names) (empty $names))) -}}
        {{- end -}}
      {{- end -}}
    {{- end -}}
    {{- $_ := set $scopes $scope $rules -}}
  {{- end -}}
{{- end -}}
{{- toJson $given -}}
{{- end -}}
