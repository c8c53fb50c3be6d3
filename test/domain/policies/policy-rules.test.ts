import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { tryPolicy } from "./policies.ts"

const problem = (spec: object): string => {
  const read = tryPolicy(spec)
  return Result.isFailure(read) ? read.failure : "none"
}

describe("a policy that cannot be enforced", () => {
  it.each([
    [{ block: ["steal", "everything"] }, "spec.block[1]"],
    [{ fs: { notFound: ["ok", "("] } }, 'spec.fs.notFound[1]: "(" is no regular expression that can be used'],
    [{ fs: { readOnly: ["(?=a)"] } }, "spec.fs.readOnly[0]"],
    [{ network: { incoming: { httpFilter: { headerFilter: "[" } } } }, "spec.network.incoming.httpFilter.headerFilter"],
    [{ network: { outgoing: { allow: [{ hostname: "*" }] } } }, "spec.network.outgoing.allow[0].hostname"],
    [
      { network: { outgoing: { block: [{}, { ipBlock: { cidr: "10.0.0.0" } }] } } },
      'spec.network.outgoing.block[1].ipBlock.cidr: "10.0.0.0" is no network such as 10.0.0.0/8'
    ],
    [
      { network: { outgoing: { block: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["x"] } }] } } },
      "spec.network.outgoing.block[0].ipBlock.except[0]"
    ],
    [{ splitQueues: { requireFilter: true } }, "spec.splitQueues: this operator does not know this field"],
    [{ env: { exclude: [], include: ["A"] } }, "spec.env.include: this operator does not know this field"],
    [
      { fs: { notFound: Array.from({ length: 30 }, () => "a{1000}b{990}") } },
      "spec: its regular expressions are too large together"
    ],
    [{ targetPath: "x".repeat(1_001) }, "spec.targetPath: it has more than 1000 characters"],
    [{ env: { exclude: Array.from({ length: 501 }, () => "A") } }, "spec.env.exclude: it has 501 entries"]
  ])("%j names the field", (spec, expected) => expect(problem(spec)).toContain(expected))

  it("is none whose unknown fields ask for nothing, as a newer definition's defaults do", () =>
    expect(problem({ splitQueues: { requireFilter: false, filters: [] }, later: null })).toBe("none"))

  it("is none that the published definition completes", () => {
    const complete = {
      block: [],
      targetPath: null,
      selector: null,
      appliesToCopyTargets: false,
      requireProfile: false,
      profileAllowlist: null,
      env: { exclude: [] },
      fs: { readOnly: [], local: [], notFound: [] },
      network: { incoming: { httpFilter: { headerFilter: null } }, outgoing: { allow: [], block: [] } }
    }
    expect(problem(complete)).toBe("none")
  })
})
