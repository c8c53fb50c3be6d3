import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"
import { describeWith } from "../support/describe-with.ts"
import { ownMounts } from "../support/outside-programs.ts"

const script = fileURLToPath(new URL("../../scripts/node.mjs", import.meta.url))

/** Runs a command with TMPDIR on an overlay, in a mount namespace of its own. */
const onOverlay = `
mount -t tmpfs none "$1"
mkdir "$1/lower" "$1/upper" "$1/work" "$1/over"
mount -t overlay none -o "lowerdir=$1/lower,upperdir=$1/upper,workdir=$1/work" "$1/over"
export TMPDIR=$1/over
shift
exec "$@"`

describeWith(["mounts"], "scripts/node.mjs", () => {
  it("refuses a temporary folder on an overlay with a sentence, and makes nothing", () => {
    const folder = mkdtempSync(join(tmpdir(), "braid-node-script-"))
    const cache = mkdtempSync(join(tmpdir(), "braid-node-script-"))
    try {
      const args = [...ownMounts, "sh", "-ec", onOverlay, "sh", folder, process.execPath, script]
      const env = { ...process.env, BRAID_CACHE: cache }
      const { status, stderr } = spawnSync("unshare", args, { env, encoding: "utf8" })
      expect(stderr).toBe(
        "npm run node: no node can be started here: containerd's overlays do not lie on an overlay, as " +
          `${folder}/over does: set TMPDIR to a folder of a disk\n`
      )
      expect(status).toBe(2)
      expect(readdirSync(cache)).toEqual([])
    } finally {
      rmSync(folder, { recursive: true })
      rmSync(cache, { recursive: true })
    }
  })
})
