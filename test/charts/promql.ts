/** Reads what a PromQL expression names, with the grammar that Prometheus' own pages use. */

import type { SyntaxNode } from "@lezer/common"
import { parser } from "@prometheus-io/lezer-promql"

/** A label that an expression compares with a text. */
export interface Matcher {
  readonly metric: string
  readonly label: string
  readonly operator: string
  readonly value: string
}

export interface Query {
  readonly metrics: ReadonlyArray<string>
  readonly matchers: ReadonlyArray<Matcher>
  /** Labels by which it sums up or matches, with the metrics that must have them; none: its series keep their own. */
  readonly groupings: ReadonlyArray<{ readonly labels: ReadonlyArray<string>; readonly metrics: ReadonlyArray<string> }>
}

/** Throws where the expression is no PromQL. */
export const readQuery = (expression: string): Query => {
  // Grafana's own word for a time.
  const text = expression.replaceAll("$__rate_interval", "5m")
  const textOf = (node: SyntaxNode | null): string => (node === null ? "" : text.slice(node.from, node.to))
  const found = new Map<string, Array<SyntaxNode>>()
  parser.parse(text).iterate({
    enter: ({ from, name, node, type }) => {
      if (type.isError) throw new Error(`no PromQL at ${from}: ${expression}`)
      found.set(name, [...(found.get(name) ?? []), node])
    }
  })
  const metricOf = (selector: SyntaxNode | null): string => textOf(selector?.getChild("Identifier") ?? null)
  const selectors = found.get("VectorSelector") ?? []
  /** The metrics of the aggregation, or of the operation, that a list of labels belongs to. */
  const metricsBeside = ({ parent }: SyntaxNode) => {
    const around = parent?.parent
    return selectors.filter(({ from, to }) => around && from >= around.from && to <= around.to).map(metricOf)
  }
  return {
    metrics: selectors.map(metricOf),
    matchers: (found.get("UnquotedLabelMatcher") ?? []).map((node) => ({
      metric: metricOf(node.parent?.parent ?? null),
      label: textOf(node.getChild("LabelName")),
      operator: textOf(node.getChild("MatchOp")),
      value: textOf(node.getChild("StringLiteral")).slice(1, -1)
    })),
    groupings: (found.get("GroupingLabels") ?? []).map((node) => ({
      labels: node.getChildren("LabelName").map(textOf),
      metrics: metricsBeside(node)
    }))
  }
}
