import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { describe, it } from "vitest"
import { isCi } from "../../support/tested-commit.ts"
import { type Binaries, type Binary, describeReal } from "../harness.ts"
import { tools } from "./tools.ts"

/** Makes, in namespaces of its own, rules as an agent makes them; one kind of tool must be able to. */
const probe = `
mount -t tmpfs none /run
ip link set lo up
for kind in legacy nft; do
  works=yes
  for tool in /usr/sbin/iptables-$kind /usr/sbin/ip6tables-$kind; do
    $tool -t nat -N PROBE &&
      $tool -t nat -A PROBE -p tcp -m owner --gid-owner 40001 -j RETURN &&
      $tool -t nat -A PROBE -p tcp --dport 80 -j REDIRECT --to-ports 81 || works=
  done
  [ -z "$works" ] || exit 0
done
exit 1`

const findProblem = (): string | undefined => {
  if (process.platform !== "linux") return "it needs Linux"
  if (process.getuid?.() !== 0) return "it needs root, to make network namespaces"
  const missing = Object.values(tools).filter((file) => !existsSync(file))
  if (missing.length > 0) {
    return `${missing.join(", ")} missing; apt-get install iptables conntrack iproute2 util-linux`
  }
  const tried = spawnSync(tools.unshare, ["--net", "--mount", tools.sh, "-c", probe], { encoding: "utf8" })
  if (tried.status === 0) return undefined
  return `redirects cannot be made here: ${tried.error?.message ?? tried.stderr.trim()}`
}

const problem = findProblem()

/**
 * A suite with real programs whose pods have network namespaces. Where these cannot be made it is left out, and the
 * name of its only test says why; with `CI=true` that test fails.
 */
export const describePodNetworks = <const Needed extends Binary>(
  name: string,
  needed: ReadonlyArray<Needed>,
  body: (binaries: Binaries<Needed>) => void
): void => {
  if (problem === undefined) return describeReal(name, needed, body)
  describe.runIf(isCi)(name, () => {
    it(`can be run here, or is left out: ${problem}`, () => {
      throw new Error(problem)
    })
  })
}
