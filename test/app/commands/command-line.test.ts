import { describe, expect, it } from "vitest"
import packageJson from "../../../package.json" with { type: "json" }
import { protocolVersion } from "../../../src/domain/protocol/version.ts"
import { runBraid } from "../../support/run-braid.ts"

describe("the command line of braid", () => {
  it.each([
    [["status", "-o", "xml"], /^braid: .*xml.*\nfix: braid status --help lists what there is\.\n$/u],
    [["status", "-x"], /^braid: Unrecognized flag: -x in command braid status.*\nfix: braid status --help/u],
    [["nope"], /^braid: Unknown subcommand "nope" for "braid".*\nfix: braid --help lists what there is\.\n$/u]
  ])("says what is wrong and where to read more, and no more: %j", async (args, sentence) => {
    const { code, errors, output } = await runBraid(args)
    expect([code, output]).toEqual([1, ""])
    expect(errors).toMatch(sentence)
  })

  it("has a command's own flags in its help, with their defaults", async () => {
    const { output } = await runBraid(["join", "--help"])
    for (const usual of ["default 300", "default 10", "default mirrord", "default token"])
      expect(output).toContain(usual)
    expect(output).not.toMatch(/--wizard|--log-level|GLOBAL/u)
    expect((await runBraid(["--help"])).output).toMatch(/--completions/u)
  })

  it("joins no cluster that dials out with a wrong address, and says what to write", async () => {
    const { code, errors } = await runBraid(["join", "c", "--outbound", "--cell", "cell.example.com:65536"])
    expect([code, errors]).toEqual([1, expect.stringContaining('braid: --cell: found "cell.example.com:65536";')])
    expect(errors).toContain("fix: Nothing was written. Do what the sentence says, and run it again.")
  })

  it("tells its own version and protocol, also where no operator can be asked", async () => {
    const own = { version: packageJson.version, protocolVersion }
    const alone = await runBraid(["version", "--client", "-o", "json"])
    expect([alone.code, JSON.parse(alone.output)]).toEqual([0, { client: own }])
    const { code, errors, output } = await runBraid(["version"])
    expect([code, output]).toEqual([
      1,
      `PROGRAM   VERSION   PROTOCOL\nbraid     ${own.version}     ${own.protocolVersion}\n`
    ])
    expect(errors).toMatch(/^braid: No kubeconfig can be used/u)
  })
})
