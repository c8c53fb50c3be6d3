/**
 * S-B2 (failures.md §1.14). A session that named a branch and gets the source's address would write into a shared
 * database. So would one that goes on without the variable that its configuration means: the program finds its database
 * by another one.
 */

import { asString, at } from "../../../src/domain/json.ts"
import { pods } from "../../../src/domain/resources/core-kinds.ts"
import { wishedVariable } from "../world/branch-order.ts"
import { isBranchPod } from "../world/sim-branch-pods.ts"
import type { SimClient } from "../world/sim-client.ts"
import { branchEngineWords, databaseFacts, sourceDomain } from "../world/source-databases.ts"
import { branchRule, type BranchRecord } from "./branch-history.ts"
import { defaultOf } from "./session-objects.ts"

/**
 * The variables that lead to branches. A branch of another engine is used by its id alone, and has a variable of its
 * own.
 */
const variablesOf = (records: ReadonlyArray<BranchRecord>): ReadonlySet<string> =>
  new Set(
    Object.values<{ readonly block: string; readonly variable: string }>(databaseFacts)
      .filter(({ block }) => records.some(({ object }) => at(object, "spec", block) !== undefined))
      .map(({ variable }) => variable)
  )

export const sourcesAreNotReached = branchRule({
  id: "S-B2",
  sentence: "A session that named a branch is led to the pod of this very branch, and never to the source.",
  begin: (world, history) => {
    /** By cluster and address: the UID of the branch that has had it. */
    const addresses = new Map<string, string>()
    /** By client: the branch that it was led to first. */
    const led = new Map<string, string>()
    /** The sentence about a variable that does not lead to a branch, or to another one than before. */
    const leadsWrong = (
      client: SimClient,
      records: ReadonlyArray<BranchRecord>,
      [variable, url]: readonly [string, string]
    ): string | undefined => {
      const what = `${variable} of ${client.name} leads to`
      if (url.includes(sourceDomain)) return `${what} the source.`
      const host = /@([^@:/]*):/u.exec(url)?.[1] ?? ""
      const uid = addresses.get(`${defaultOf(world(), client)} ${host}`)
      if (!records.some((record) => record.uid === uid) || uid === undefined)
        return `${what} ${host}, which is no branch that it named.`
      const key = `${client.name} ${variable}`
      if ((led.get(key) ?? uid) !== uid) return `${what} another branch than before.`
      led.set(key, uid)
      return undefined
    }
    return {
      on: {
        Committed: ({ cluster, commit: { after, ref } }) => {
          if (ref.plural !== pods.plural) return
          const address = asString(at(after, "status", "podIP"))
          const owner = after?.metadata.ownerReferences?.[0]
          if (after !== undefined && address !== undefined && owner !== undefined && isBranchPod(after))
            addresses.set(`${cluster} ${address}`, owner.uid)
        },
        ClientEvent: ({ client: name, event }) => {
          const client = world().clients.get(name)
          if (event._tag !== "Env" || event.result._tag !== "Ok" || client?.branchWish === undefined) return undefined
          const { branchWish, branches } = client
          if (branches.length === 0) return undefined
          const { value: environment } = event.result
          const records = [...history.records.values()].filter(({ object }) => branches.includes(object.metadata.name))
          const variables = variablesOf(records)
          if (variables.size === 0) return `${name} is served although there is no branch ${branches.join(", ")}.`
          // The command gets all variables before it can be known which one is meant; the internal proxy asks for it.
          const meant = environment.size < branchEngineWords.length ? [wishedVariable(branchWish)] : []
          const missed = meant.find((variable) => !environment.has(variable))
          if (missed !== undefined) return `${name} goes on without ${missed}, which leads to its branch.`
          for (const variable of variables.union(new Set(meant))) {
            const url = environment.get(variable)
            const wrong = url === undefined ? undefined : leadsWrong(client, records, [variable, url])
            if (wrong !== undefined) return wrong
          }
          return branchWish.ids.length > 0 ? undefined : `${name} is led to a branch that it did not want.`
        }
      }
    }
  }
})
