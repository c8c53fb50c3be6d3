{{- /*
Renders the chart once for each of `global.cases`, as JSON: its objects and, where they are wanted, its notes; or the sentences with which it
refuses the values. Custom resources are there by their names alone, as all of one version are the same.
*/ -}}
{{- define "braid.refuse" -}}{{- toJson . -}}{{- end -}}
{{- $outcomes := list -}}
{{- range $case := .Values.global.cases -}}
  {{- $root := dict "Values" $case.values "Release" (merge (dict "Namespace" $case.namespace) $.Release) -}}
  {{- $root = merge $root (pick $ "Chart" "Files" "Capabilities" "Template") -}}
  {{- with include "braid.normalise" $root -}}
    {{- $outcomes = append $outcomes (dict "refused" (fromJsonArray .)) -}}
  {{- else -}}
    {{- $objects := list -}}
    {{- range $file := $.Values.global.files -}}
      {{- $text := include (printf "%s/%s" $.Template.BasePath $file) $root -}}
      {{- if eq $file "crds.yaml" -}}
        {{- range $found := regexFindAll "(?m)^  name: .*$" $text -1 -}}
          {{- $objects = append $objects (dict "kind" "CustomResourceDefinition" "metadata" (fromYaml $found)) -}}
        {{- end -}}
      {{- else -}}
        {{- range $document := regexSplit "(?m)^---$" $text -1 -}}
          {{- with fromYaml $document -}}{{- $objects = append $objects . -}}{{- end -}}
        {{- end -}}
      {{- end -}}
    {{- end -}}
    {{- $notes := "" -}}
    {{- if $case.notes -}}{{- $notes = include "braid.notes" $root -}}{{- end -}}
    {{- $outcomes = append $outcomes (dict "objects" $objects "notes" $notes) -}}
  {{- end -}}
{{- end -}}
{{- toJson $outcomes -}}
