{{/* Which values there are and of which kind each is, by files/known-values.yaml; and the nearest known name of an unknown one. */}}

{{/* A sentence for each value of a wrong kind, as a list in YAML: list of the path before the names, the kinds and the values. */}}
{{- define "braid.kindMistakes" -}}
{{- $before := index . 0 -}}
{{- $values := index . 2 -}}
{{- $mistakes := list -}}
{{- range $name, $kind := index . 1 -}}
  {{- $path := print $before (include "braid.step" $name) -}}
  {{- $value := index $values $name -}}
  {{- if kindIs "invalid" $value -}}
    {{- /* Null is the default. */ -}}
  {{- else if kindIs "map" $kind -}}
    {{- if kindIs "map" $value -}}
      {{- $mistakes = concat $mistakes (include "braid.kindMistakes" (list (print $path ".") $kind $value) | fromYamlArray) -}}
    {{- end -}}
  {{- else -}}
    {{- with include "braid.kindProblem" (list $kind $value) -}}
      {{- $problem := splitList "; " . -}}
      {{- $mistakes = append $mistakes (include "braid.mistake" (list $path (first $problem) $value (last $problem))) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- toYaml $mistakes -}}
{{- end -}}

{{/* Why a value is not of its kind and what to do, or nothing: list of the kind and the value. `own` and `any` have no rule here. */}}
{{- define "braid.kindProblem" -}}
{{- $kind := index . 0 -}}
{{- $value := index . 1 -}}
{{- $isStructure := include "braid.isStructure" $value -}}
{{- $text := "" -}}
{{- if not $isStructure -}}{{- $text = include "braid.text" $value -}}{{- end -}}
{{- if eq $kind "list" -}}
  {{- if and (not (kindIs "slice" $value)) (or $isStructure $text) -}}it must be a list; write it as a list{{- end -}}
{{- else if eq $kind "map" -}}
  {{- if and (not (kindIs "map" $value)) (or $isStructure $text) -}}it must hold a map; write keys below it{{- end -}}
{{- else if eq $kind "truth" -}}
  {{- if not (has $text (list "true" "false" (ternary "x" "" (eq $isStructure "true")))) -}}it must be true or false; write true or false{{- end -}}
{{- else if eq $kind "whole" -}}
  {{- if or (not (regexMatch "^(0|[1-9][0-9]{0,9})$" $text)) (gt (int64 $text) 2147483647) -}}it must be a whole number from 0 to 2147483647; write for example 1, or leave it out{{- end -}}
{{- else if eq $kind "share" -}}
  {{- if not (regexMatch "^(0|[1-9][0-9]{0,8}|[1-9]?[0-9]%|100%)$" $text) -}}it must be a whole number or a percentage; write for example 1 or 50%{{- end -}}
{{- else if eq $kind "priority" -}}
  {{- if or (not (regexMatch "^(0|-?[1-9][0-9]{0,9})$" $text)) (gt (int64 $text) 1000000000) (lt (int64 $text) -2147483648) -}}it must be a whole number from -2147483648 to 1000000000; write for example 1000, or leave it out{{- end -}}
{{- else if eq $kind "pull" -}}
  {{- if not (has $text (list "Always" "IfNotPresent" "Never" (ternary "x" "" (eq $isStructure "true")))) -}}it must be one of Always, IfNotPresent, Never; write one of them{{- end -}}
{{- else if eq $kind "preemption" -}}
  {{- if not (has $text (list "PreemptLowerPriority" "Never" (ternary "x" "" (eq $isStructure "true")))) -}}it must be one of PreemptLowerPriority, Never; write one of them{{- end -}}
{{- else if and $isStructure (has $kind (list "text" "name" "namespace" "operatorMemory" "quantity")) -}}
  it must be text; write it in quotes
{{- else if and $text (eq $kind "name") -}}
  {{- if include "braid.objectNamesProblem" (list $text) -}}it can be no name of an object; write small letters, digits and hyphens{{- end -}}
{{- else if and $text (eq $kind "namespace") -}}
  {{- if not (regexMatch "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$" $text) -}}it must be the name of a namespace; write its name, or leave it out for mirrord{{- end -}}
{{- else if and $text (has $kind (list "operatorMemory" "quantity")) -}}
  {{- if not (regexMatch "^([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([numkKMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+)?$" $text) -}}it must be a quantity; write for example 100m or 512Mi
  {{- else if and (eq $kind "operatorMemory") (include "braid.isBelow128Mi" $text) -}}an operator needs 128Mi at least, more with sessions; write for example 512Mi, or null for no limit
  {{- end -}}
{{- end -}}
{{- end -}}

{{/* "true" if a quantity is less than 128Mi, the least of src/domain/server/memory-limit.ts. 128Mi is written in each unit, because templates do not multiply fractions. */}}
{{- define "braid.isBelow128Mi" -}}
{{- $least := dict "Ki" 131072.0 "Mi" 128.0 "Gi" 0.125 "Ti" 1.220703125e-4 "Pi" 1.1920928955078125e-7 "Ei" 1.1641532182693481e-10 -}}
{{- $least = merge $least (dict "n" 1.34217728e17 "u" 1.34217728e14 "m" 1.34217728e11 "k" 134217.728 "K" 134217.728 "M" 134.217728) -}}
{{- $least = merge $least (dict "G" 0.134217728 "T" 1.34217728e-4 "P" 1.34217728e-7 "E" 1.34217728e-10 "" 134217728.0) -}}
{{- $unit := regexFind "([numkKMGTPE]|[KMGTPE]i)$" . -}}
{{- if lt (float64 (trimSuffix $unit .)) (index $least $unit) -}}true{{- end -}}
{{- end -}}

{{/* A quantity in MiB. */}}
{{- define "braid.mebibytes" -}}
{{- $each := dict "Ki" 9.765625e-4 "Mi" 1.0 "Gi" 1024.0 "Ti" 1048576.0 "Pi" 1073741824.0 "Ei" 1.099511627776e12 -}}
{{- $each = merge $each (dict "n" 9.5367431640625e-16 "u" 9.5367431640625e-13 "m" 9.5367431640625e-10 "" 9.5367431640625e-7) -}}
{{- $each = merge $each (dict "k" 9.5367431640625e-4 "K" 9.5367431640625e-4 "M" 0.95367431640625 "G" 953.67431640625) -}}
{{- $each = merge $each (dict "T" 953674.31640625 "P" 953674316.40625 "E" 953674316406.25) -}}
{{- $unit := regexFind "([numkKMGTPE]|[KMGTPE]i)$" . -}}
{{- mulf (trimSuffix $unit . | float64) (index $each $unit) -}}
{{- end -}}

{{/* A name as a part of a path. */}}
{{- define "braid.step" -}}{{- if contains "." . -}}{{- . | quote -}}{{- else -}}{{- . -}}{{- end -}}{{- end -}}

{{/* A line for each value that does not exist, as a list in YAML: list of the path before the names, the known values there, the values there, and all known values. */}}
{{- define "braid.unknownValues" -}}
{{- $before := index . 0 -}}
{{- $known := index . 1 -}}
{{- $all := index . 3 -}}
{{- $lines := list -}}
{{- range $name, $value := index . 2 -}}
  {{- $path := print $before (include "braid.step" $name) -}}
  {{- if not (hasKey $known $name) -}}
    {{- if not (and (eq $before "") (has $name (list "global" "braid.judged"))) -}}
      {{- $meant := include "braid.elsewhere" (list $all $name) -}}
      {{- if not $meant -}}
        {{- $meant = include "braid.nearest" (list $name (keys $known)) -}}
        {{- if $meant -}}{{- $meant = print $before (include "braid.step" $meant) -}}{{- end -}}
      {{- end -}}
      {{- $lines = append $lines (printf "%s: there is no such value%s" $path (ternary (printf ", did you mean %s?" $meant) "" (ne $meant ""))) -}}
    {{- end -}}
  {{- else if and (kindIs "map" (index $known $name)) (kindIs "map" $value) -}}
    {{- $lines = concat $lines (include "braid.unknownValues" (list (print $path ".") (index $known $name) $value $all) | fromYamlArray) -}}
  {{- end -}}
{{- end -}}
{{- toYaml $lines -}}
{{- end -}}

{{/* The one or two paths at which there is a value of this name, in words, or nothing: list of the known values and the name. */}}
{{- define "braid.elsewhere" -}}
{{- $paths := include "braid.pathsTo" (list "" (index . 0) (index . 1)) | fromYamlArray -}}
{{- if le (len $paths) 2 -}}{{- join " or " $paths -}}{{- end -}}
{{- end -}}

{{- define "braid.pathsTo" -}}
{{- $before := index . 0 -}}
{{- $wanted := index . 2 -}}
{{- $paths := list -}}
{{- range $name, $kind := index . 1 -}}
  {{- $path := print $before (include "braid.step" $name) -}}
  {{- if eq (lower $name) (lower $wanted) -}}{{- $paths = append $paths $path -}}{{- end -}}
  {{- if kindIs "map" $kind -}}
    {{- $paths = concat $paths (include "braid.pathsTo" (list (print $path ".") $kind $wanted) | fromYamlArray) -}}
  {{- end -}}
{{- end -}}
{{- toYaml $paths -}}
{{- end -}}

{{/* The name that looks most like another, or nothing if none looks like it: list of the name and the names there are. */}}
{{- define "braid.nearest" -}}
{{- $pairs := include "braid.letterPairs" (index . 0) | splitList " " -}}
{{- $best := 54 -}}
{{- $nearest := "" -}}
{{- range $name := index . 1 | sortAlpha -}}
  {{- $others := include "braid.letterPairs" $name | splitList " " -}}
  {{- $shared := 0 -}}
  {{- range $pair := $pairs -}}{{- if has $pair $others -}}{{- $shared = add $shared 1 -}}{{- end -}}{{- end -}}
  {{- $likeness := div (mul 200 $shared) (add (len $pairs) (len $others)) -}}
  {{- if gt $likeness $best -}}{{- $best = $likeness -}}{{- $nearest = $name -}}{{- end -}}
{{- end -}}
{{- $nearest -}}
{{- end -}}

{{/* All pairs of neighbouring letters, separated by spaces: two names are as alike as they share pairs. */}}
{{- define "braid.letterPairs" -}}
{{- $text := printf "^%s$" (regexReplaceAll "[^a-z0-9]+" (lower .) "") -}}
{{- $pairs := list -}}
{{- range $at := until (int (sub (len $text) 1)) -}}{{- $pairs = append $pairs (substr $at (int (add $at 2)) $text) -}}{{- end -}}
{{- join " " $pairs -}}
{{- end -}}

{{/* ", did you mean …?", or nothing: list of a name and the names there are. */}}
{{- define "braid.didYouMean" -}}
{{- with include "braid.nearest" . -}}, did you mean {{ . }}?{{- end -}}
{{- end -}}
