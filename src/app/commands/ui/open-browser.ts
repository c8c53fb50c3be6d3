/** Opens a person's browser, where there is one. */

import { spawn } from "node:child_process"
import { Effect } from "effect"

/** The program that opens a link, by the platform, and its arguments in front of the link. */
const openers: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...ReadonlyArray<string>]>>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
  linux: ["xdg-open"]
}

/** Whether there may be a browser: on Linux a person who has come by ssh has no screen. */
const hasScreen = (): boolean =>
  process.platform !== "linux" || ["DISPLAY", "WAYLAND_DISPLAY"].some((name) => (process.env[name] ?? "") !== "")

/** Opens a link. Without a browser nothing happens: the link is printed as well. */
export const openBrowser = (link: string): Effect.Effect<void> =>
  Effect.sync(() => {
    const [program, ...args] = openers[process.platform] ?? []
    if (program === undefined || !hasScreen()) return
    const child = spawn(program, [...args, link], { stdio: "ignore", detached: true })
    child.on("error", () => undefined)
    child.unref()
  })
