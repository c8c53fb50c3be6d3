import { Option } from "effect"
import { expect, it } from "vitest"
import { findingText, readFuzzOptions } from "../../../lab/fuzz/fuzz-command.ts"
import { subnetOf } from "../../address-plan.ts"

const subnet = subnetOf("fuzz, unless told otherwise")
const none = { seconds: 300, seed: Option.none(), surface: Option.none(), path: Option.none(), subnet }

it("says of each flag that cannot be used what was found and what would be right", () => {
  expect(readFuzzOptions({ ...none, seconds: 0, surface: Option.some("x"), path: Option.some("1,2") })).toEqual([
    "--seconds: found 0; give at least 1",
    '--surface: found "x"; give one of connect, api, framing, client, single, primary, member, agent',
    "--path is of one input: give --surface and --seed as well, as the failure names them",
    '--path: found "1,2"; give numbers with colons between, as the failure names them'
  ])
})

it("repeats what a failure names", () => {
  const failure = { surface: "api", seed: 7, path: "0:1", problems: ["500"], input: "GET /" }
  expect(findingText(failure)).toEqual([
    "failed: 500",
    "surface api",
    "the smallest input:",
    "GET /",
    "repeat: npm run fuzz -- --surface api --seed 7 --path 0:1"
  ])
  const again = { ...none, seed: Option.some(7), surface: Option.some("api"), path: Option.some("0:1") }
  expect(readFuzzOptions(again)).toEqual({ seed: 7, seconds: 300, surface: "api", path: "0:1" })
})
