/** Error numbers, and the errors that clients read. */

import * as os from "node:os"
import { expect, it } from "vitest"
import { agentError, errno, systemError } from "../../../lab/agent/io-errors.ts"

it.each([
  [2, { _tag: "NotFound" }],
  [1, { _tag: "PermissionDenied" }],
  [13, { _tag: "PermissionDenied" }],
  [39, { _tag: "DirectoryNotEmpty" }],
  [111, { _tag: "ConnectionRefused" }],
  [40, { _tag: "Unknown", value: "filesystem loop or indirection limit (e.g. symlink loop)" }],
  [9, { _tag: "Unknown", value: "uncategorized error" }]
])("error number %d", (number, kind) =>
  expect(systemError(number)).toEqual({ _tag: "RemoteIO", value: { rawOsError: number, kind } })
)

it("own errors have no number", () =>
  expect(agentError("TimedOut")).toEqual({ _tag: "RemoteIO", value: { rawOsError: null, kind: { _tag: "TimedOut" } } }))

it.runIf(process.platform === "linux")("the numbers are Linux's", () =>
  expect(Object.entries(errno)).toEqual(
    Object.keys(errno).map((name) => [name, Object.entries(os.constants.errno).find(([key]) => key === name)?.[1]])
  )
)
