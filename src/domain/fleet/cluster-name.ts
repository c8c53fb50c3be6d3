/**
 * Names of clusters, and the names of Kubernetes objects that are made from them.
 *
 * Not here: names of sessions' objects (session/names.ts).
 */

import type { Brand } from "effect/Brand"
import { withoutEnd } from "../clean-text.ts"

/**
 * Name of a cluster as the administrator knows it: the key of the chart's `clusters` map, the EKS cluster name, a kube
 * context. Any text; it is not always a DNS label (EKS allows capitals and `_`), so names of Kubernetes objects are
 * made with {@link clusterSlug}.
 */
export type ClusterName = string & Brand<"ClusterName">

/** The reason why a text cannot be a cluster's name, as a sentence, or nothing. */
export const clusterNameProblem = (text: string): string | undefined => {
  if (text.trim() === "") return "a cluster needs a name"
  if (text.length > maxClusterNameLength) return `a cluster's name may have at most ${maxClusterNameLength} characters`
  if (/\p{Cc}/u.test(text)) return "a cluster's name may not hold control characters"
  return undefined
}

/** Characters of the longest name that we accept; ARNs fit. */
const maxClusterNameLength = 253

/** For names that already passed {@link clusterNameProblem}: from configuration, or from objects that we wrote. */
export const clusterName = (text: string): ClusterName => text as ClusterName

/** A pure SHA-256: lower-case hex of the digest of the text's UTF-8 bytes. */
export type Sha256Hex = (text: string) => string

const maxLabelLength = 63
const hashLength = 6

/** Whether a text is an RFC 1123 label, as names of namespaces are. */
export const isDnsLabel = (text: string): boolean =>
  text.length <= maxLabelLength && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/u.test(text)

/**
 * The name as a DNS label, to build object names from: itself when it is one, otherwise its lower-case letters and
 * digits joined by `-`, plus 6 hex digits of the name's SHA-256. At most 63 characters.
 */
export const clusterSlug = (name: ClusterName, sha256Hex: Sha256Hex): string => {
  if (isDnsLabel(name)) return name
  const hash = sha256Hex(name).slice(0, hashLength)
  const words = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/gu, "-")
    .slice(0, maxLabelLength - hashLength - 1)
    // At most one hyphen is first: a run of other characters has become one.
    .replace(/^-/u, "")
  const label = withoutEnd(words, "-")
  return label === "" ? `c-${hash}` : `${label}-${hash}`
}

/** End of the name of a Secret with a token that the operator got by itself. */
const refreshed = "-refreshed"

/** Slugs whose object names would collide with this cluster's, including Secrets of renewed tokens. */
export const collidingSlugs = (name: ClusterName, sha256Hex: Sha256Hex): ReadonlyArray<string> => {
  const slug = clusterSlug(name, sha256Hex)
  const before = slug.endsWith(refreshed) ? [slug.slice(0, -refreshed.length)] : []
  return [slug, slug + refreshed, ...before]
}

/** Whether two clusters' objects would get the same names. */
export const clusterNamesCollide = (one: ClusterName, other: ClusterName, sha256Hex: Sha256Hex): boolean =>
  collidingSlugs(one, sha256Hex).includes(clusterSlug(other, sha256Hex))

/** Name of the Secret with a member's credentials (published-chart.md §2.6): the chart's for a legal name. */
export const credentialsSecretName = (name: ClusterName, sha256Hex: Sha256Hex): string =>
  `mirrord-cluster-${clusterSlug(name, sha256Hex)}`

/** Name of the Secret with the last token that the operator got from a member by itself. */
export const refreshedSecretName = (name: ClusterName, sha256Hex: Sha256Hex): string =>
  credentialsSecretName(name, sha256Hex) + refreshed
