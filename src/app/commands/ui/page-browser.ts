/**
 * The few things of a browser that the scripts of pages use, because the project is compiled without a browser's types.
 *
 * Not here: what the scripts do with them (page-parts.ts, page-script.ts, usage-script.ts).
 */

export interface PageElement {
  readonly value: string
  readonly open: boolean
  readonly textContent: string | null
  showModal: () => void
  close: () => void
}

export interface PageDocument {
  readonly hidden: boolean
  getElementById: (id: string) => PageElement | null
  addEventListener: (name: string, listener: () => void) => void
}

/** The news of a server. */
export interface PageEvents {
  /** 2: the browser has given up; it connects again by itself only where it has lost the connection. */
  readonly readyState: number
  onerror: (() => void) | null
  addEventListener: (name: string, listener: (message: { readonly data: string }) => void) => void
  close: () => void
}

export interface PageWindow {
  readonly document: PageDocument
  readonly navigator: { readonly clipboard?: { readonly writeText: (text: string) => Promise<void> } }
  readonly EventSource: new (url: string) => PageEvents
  readonly setTimeout: (act: () => void, millis: number) => number
  readonly clearTimeout: (timer: number | undefined) => void
  readonly localStorage: {
    readonly getItem: (name: string) => string | null
    readonly setItem: (name: string, value: string) => void
  }
  readonly fetch: (
    url: string,
    options: { readonly method: string }
  ) => Promise<{ readonly status: number; readonly json: () => Promise<{ readonly message: string }> }>
}

/** The event of a control of the page. */
export interface PageInput {
  readonly target: PageElement
}
