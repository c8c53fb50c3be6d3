// @ts-check
/**
 * Makes the rules of the chart's roles from the cards of rights: for each holder and scope a list, each rule with the
 * conditions under which the templates put it into the role.
 */

import { stringify } from "yaml"
import { rightHolders, rightsOf } from "../src/domain/commands/doctor/needed-rights.ts"

/**
 * @import {
 *   Right,
 *   RightHolder
 * } from "../src/domain/catalogue/right.ts"
 */

/** All but the resource and the verbs. @param {Right} right */
const circumstances = ({ group, name, when = [], whileOn }) => JSON.stringify([group, name, when, whileOn?.value])

/**
 * The rules for rights in one scope: a rule for all resources of a group that share conditions, name and verbs.
 *
 * @param {ReadonlyArray<Right>} rights
 */
const rulesFor = (rights) => {
  const byResource = Map.groupBy(rights, (right) => circumstances(right) + right.resource)
  const whole = [...byResource.values()].flatMap((same) =>
    same.slice(0, 1).map((first) => ({ ...first, verbs: [...new Set(same.flatMap(({ verbs }) => verbs))] }))
  )
  return [...Map.groupBy(whole, (right) => circumstances(right) + right.verbs.join()).values()].flatMap((same) =>
    same.slice(0, 1).map(({ group, name, verbs, when = [], whileOn }) => ({
      apiGroups: [group],
      resources: same.map(({ resource }) => resource),
      ...(name === undefined ? {} : { resourceNames: [name] }),
      verbs,
      ...(when.length === 0 ? {} : { when }),
      ...(whileOn === undefined ? {} : { whileOn: whileOn.value })
    }))
  )
}

/** A rule on one line. @param {object} rule */
const line = (rule) => stringify(rule, { collectionStyle: "flow", flowCollectionPadding: false, lineWidth: 0 }).trim()

/** @param {RightHolder} holder */
const scopesOf = (holder) =>
  [...Map.groupBy(rightsOf(holder), ({ scope }) => scope)]
    .map(
      ([scope, rights]) =>
        `  ${scope}:\n${rulesFor(rights)
          .map((rule) => `    - ${line(rule)}\n`)
          .join("")}`
    )
    .join("")

/** The content of files/rights.yaml, without its header. */
export const chartRights = () => rightHolders.map((holder) => `${holder}:\n${scopesOf(holder)}`).join("")
