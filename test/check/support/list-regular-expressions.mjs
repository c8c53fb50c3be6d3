// @ts-check
/** A lint plugin that reports every regular expression, as JSON of its pattern and its flags. */

/**
 * @import {RuleTester} from "oxlint/plugins-dev"
 * @typedef {Extract<Parameters<RuleTester["run"]>[1], { create: unknown }>} Rule
 *
 * @typedef {Parameters<NonNullable<Rule["create"]>>[0]} Context
 *
 * @typedef {ReturnType<NonNullable<Rule["create"]>>} Visitor
 */

/**
 * @param {Context} context
 * @returns {Visitor}
 */
const create = (context) => ({
  Literal: (node) => {
    if ("regex" in node) context.report({ node, message: JSON.stringify([node.regex.pattern, node.regex.flags]) })
  }
})

export default { meta: { name: "list" }, rules: { expressions: { create } } }
