import type { DocumentOptions, ParseOptions, SchemaOptions, Tags } from "yaml"

const isTime = (tag: Tags[number]): boolean => typeof tag === "object" && (tag.tag === "tag:yaml.org,2002:timestamp" || ("format" in tag && tag.format === "TIME"))

/** How Kubernetes reads YAML (sigs.k8s.io/yaml): as YAML 1.1, where `yes` is a boolean, but dates and times of the day are text. */
export const kubernetesYaml: ParseOptions & DocumentOptions & SchemaOptions = {
  version: "1.1",
  customTags: (tags) => tags.filter((tag) => !isTime(tag))
}
