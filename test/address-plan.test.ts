import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"
import { networksOf, networkUsers } from "./address-plan.ts"

const tests = fileURLToPath(new URL(".", import.meta.url))

it("gives each network of the machine to one user", () => {
  const users = new Map<number, ReadonlyArray<string>>()
  for (const user of networkUsers)
    for (const network of networksOf(user)) users.set(network, [...(users.get(network) ?? []), user])
  expect([...users].filter(([, sharing]) => sharing.length > 1)).toEqual([])
  // 127.0.0.0/16 is everybody's, and 255 is no part of an address that one would want.
  expect([...users.keys()].filter((network) => network < 1 || network > 254)).toEqual([])
})

it("is where playgrounds and nodes of tests take their networks from", () => {
  const files = readdirSync(tests, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && !file.includes("embedded/kubelet")
  )
  const numbers = files.flatMap((file) =>
    [...readFileSync(`${tests}${file}`, "utf8").matchAll(/(?:subnet: |serviceSubnet: |--subnet", ")\d+/gu)].map(
      ([text]) => `${file}: ${text}`
    )
  )
  expect(numbers).toEqual([])
})
