/**
 * The parts that the pages of `braid ui` have in common, which run in a browser: how they follow the server, and
 * tables, filters, links and troubles. The pages have it as the text of the class, so it can use nothing from outside
 * but types.
 */

import type * as Lit from "lit-html"
import type { PageCluster } from "../../../domain/commands/ui/page-cluster.ts"
import type { PageEvents, PageInput, PageWindow } from "./page-browser.ts"

export type Template = Lit.TemplateResult | typeof Lit.nothing

/** Hears whether the server is away, and whether that is because the login to the page has ended. */
type SetAway = (isAway: boolean, isLoggedOut: boolean) => void

/** Draws what more than one page has. Only the text of this class reaches the browser. */
export class PageParts {
  /** A sentence for when the command that serves the page does not answer. */
  readonly away = "braid does not answer, so this is the last known state. Start it again, and open its new link."
  readonly lit: typeof Lit
  readonly window: PageWindow
  #events: PageEvents | undefined
  #follow: (() => void) | undefined
  /** The timer after which a refused stream is asked for again. */
  #again: number | undefined
  /** The pause before that, ms: longer after each refusal in a row. */
  #pause = 2_000
  #isAway = false

  constructor(lit: typeof Lit, window: PageWindow) {
    this.lit = lit
    this.window = window
  }

  /** The model that the document has in it. */
  model(): unknown {
    return JSON.parse(this.window.document.getElementById("model")?.textContent ?? "null")
  }

  /** Draws the page, in the same elements as before. */
  draw(page: Template): void {
    const root = this.window.document.getElementById("root")
    if (root !== null) this.lit.render(page, root as never)
  }

  /**
   * Follows a stream of the server while the page is seen: a page that is not seen asks the clusters nothing. Following
   * again ends what was followed before. A stream that ends and is there again at once, as some do by design, is no
   * server that is away.
   */
  follow(url: () => string, heard: (message: unknown) => void, setAway: SetAway): void {
    const { document } = this.window
    if (this.#follow === undefined)
      document.addEventListener("visibilitychange", () => (document.hidden ? this.#leave() : this.#follow?.()))
    this.#leave()
    const tell: SetAway = (isAway, isLoggedOut) => {
      if (isAway || this.#isAway) setAway(isAway, isLoggedOut)
      this.#isAway = isAway
    }
    this.#follow = () => {
      if (this.#events !== undefined) return
      this.#stopWaiting()
      const address = url()
      const events = new this.window.EventSource(address)
      this.#events = events
      let errors = 0
      events.onerror = () => {
        errors++
        if (events.readyState === 2) this.#refused(address, tell)
        else if (errors > 1) tell(true, false)
      }
      events.addEventListener("message", ({ data }) => {
        errors = 0
        this.#pause = 2_000
        tell(false, false)
        heard(JSON.parse(data))
      })
    }
    if (!document.hidden) this.#follow()
  }

  /** A server has answered with something else than a stream, after which browsers ask no more. */
  #refused(address: string, setAway: SetAway): void {
    this.#events = undefined
    const again = this.window.setTimeout(() => this.#follow?.(), this.#pause)
    this.#again = again
    this.#pause = Math.min(2 * this.#pause, 15_000)
    const heard = (isLoggedOut: boolean): void => {
      if (this.#again === again) setAway(true, isLoggedOut)
    }
    // The stream does not tell its status.
    void this.window.fetch(address, { method: "HEAD" }).then(
      ({ status }) => heard(status === 401),
      () => heard(false)
    )
  }

  #stopWaiting(): void {
    this.window.clearTimeout(this.#again)
    this.#again = undefined
  }

  #leave(): void {
    this.#stopWaiting()
    this.#events?.close()
    this.#events = undefined
  }

  /** The words of a filter, in lower case. */
  words({ target }: PageInput): ReadonlyArray<string> {
    return target.value.toLowerCase().split(/\s+/u).filter(Boolean)
  }

  /** Links to the pages of this server. `here`: this page. */
  links(here: "fleet" | "usage", hasFleet: boolean): Template {
    const { html, nothing } = this.lit
    const link = (page: "fleet" | "usage", path: string, name: string): Template =>
      html`<a href=${path} aria-current=${page === here ? "page" : nothing}>${name}</a>`
    return html`<nav aria-label="Pages">
      ${hasFleet ? link("fleet", "./", "Fleet") : nothing} ${link("usage", "usage", "Use")}
    </nav>`
  }

  /**
   * Why the page is not the present state. `away`: what to say of a server that does not answer; `undefined` if it
   * does.
   */
  troubles(
    away: string | Template | undefined,
    problem: { readonly message: string; readonly fix: string } | undefined,
    before: string
  ): Template {
    const { html, nothing } = this.lit
    return html`${away === undefined ? nothing : html`<p class="problem" id="away">${away}</p>`}
    ${
      problem === undefined
        ? nothing
        : html`<p class="problem" id="problem">${before} ${problem.message} ${problem.fix}</p>`
    }`
  }

  heads(...names: ReadonlyArray<string>): ReadonlyArray<Template> {
    return names.map((name) => this.lit.html`<th scope="col">${name}</th>`)
  }

  /** A table that scrolls where the screen is too narrow for it. */
  table(label: string, head: unknown, rows: ReadonlyArray<Template>): Template {
    const { html } = this.lit
    return html`<div class="scroll" role="region" tabindex="0" aria-label=${label}>
      <table>
        <thead>
          <tr>
            ${head}
          </tr>
        </thead>
        <tbody>
          ${rows}
        </tbody>
      </table>
    </div>`
  }

  /** The clusters, each with its state now. */
  clusters(clusters: ReadonlyArray<PageCluster>): Template {
    const { html } = this.lit
    const row = (cluster: PageCluster): Template =>
      html`<tr>
        <th scope="row">${cluster.name}</th>
        <td class="nowrap"><span class="look ${cluster.look}">${cluster.state}</span> ${cluster.age}</td>
        <td class="long">${cluster.reason} <span class="soft">${cluster.fix}</span></td>
        <td>${cluster.roles}</td>
        <td class="nowrap">${cluster.version}</td>
        <td>
          <span class="look ${cluster.credentials === "" ? "" : cluster.credentialsLook}">${cluster.credentials}</span>
        </td>
        <td>${cluster.sessions}</td>
      </tr>`
    const head = this.heads("Cluster", "State", "Why, and what to do", "Role", "Operator", "Credentials", "Sessions")
    return this.table("Clusters", head, clusters.map(row))
  }
}
