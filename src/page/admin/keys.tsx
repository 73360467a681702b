import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { CreatedKey, Key } from "../../domain/keys.ts";
import { ROLES } from "../../domain/words.ts";
import { post, remove } from "../api.ts";
import { duration, moment } from "../format.ts";
import { now } from "../live/live.ts";
import { me } from "../me.ts";
import { Copy } from "../parts/copy-link.tsx";
import { FormDialog, tell } from "../parts/dialog.tsx";
import { Figure, Rows } from "../parts/figure.tsx";
import { State } from "../parts/marks.tsx";
import { filled, keyOf, LIMITS } from "./forms.ts";
import { admin } from "./words.ts";

const MARKS = { active: "ok", expired: "stale", revoked: "unknown" } as const;
const ORDER = Object.keys(MARKS);

/** Every key but its secret; what changes one raises `changed`. */
export function Keys({ changed }: { readonly changed: Signal<number> }) {
  const asked = useSignal<Key | "new" | null>(null);
  const leave = () => {
    asked.value = null;
  };
  return (
    <>
      <Figure
        title={admin.keys}
        path="/api/keys"
        query={{ limit: "1000" }}
        version={changed.value}
        aside={
          <button
            class="btn s end"
            type="button"
            onClick={() => {
              asked.value = "new";
            }}
          >
            {admin.newKey}
          </button>
        }
      >
        {({ keys, total }) => (
          <Rows
            label={admin.keys}
            rows={[...keys].sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state))}
            total={total}
            columns={[
              { head: admin.name, cell: ({ name }) => <bdi>{name}</bdi> },
              {
                head: admin.role,
                cell: ({ role, anonymize }) => (
                  <>
                    <span class="nb">{role}</span>
                    {anonymize && `, ${admin.withPseudonyms}`}
                  </>
                ),
              },
              {
                head: admin.state,
                wide: true,
                cell: ({ state }) => <State is={MARKS[state]}>{admin.states[state]}</State>,
              },
              { head: admin.lastUsed, wide: true, cell: ({ lastUsedAt }) => <When at={lastUsedAt} isAge /> },
              { head: admin.expires, wide: true, cell: ({ expiresAt }) => <When at={expiresAt} /> },
              { head: admin.made, wide: true, cell: ({ createdAt }) => <When at={createdAt} /> },
              {
                head: admin.action,
                right: true,
                cell: (key) =>
                  key.state === "revoked" ? (
                    admin.states.revoked
                  ) : (
                    <button
                      class="ack"
                      type="button"
                      onClick={() => {
                        asked.value = key;
                      }}
                    >
                      {admin.revoke}
                      <span class="vh"> {key.name}</span>
                    </button>
                  ),
              },
            ]}
          />
        )}
      </Figure>
      {asked.value === "new" && <MakeKey changed={changed} leave={leave} />}
      {asked.value !== null && asked.value !== "new" && (
        <Revoke of={asked.value} changed={changed} leave={leave} />
      )}
    </>
  );
}

/** A moment, or how long ago it was; none is "never". */
export function When(props: { readonly at: string | null; readonly isAge?: boolean }): ComponentChildren {
  const { at, isAge = false } = props;
  if (at === null) return <span class="q">{admin.never}</span>;
  return isAge ? admin.ago(duration(now.value - Date.parse(at))) : moment(Date.parse(at), now.value);
}

interface DialogProps {
  readonly changed: Signal<number>;
  readonly leave: () => void;
}

function Revoke({ of: { id, name }, changed, leave }: DialogProps & { readonly of: Key }) {
  const act = async () => {
    await remove(`/api/keys/${id}`);
    tell(admin.revoked(name));
    changed.value++;
    return true;
  };
  return (
    <FormDialog title={`${admin.revokeThis(name)}?`} button={admin.revokeThis(name)} act={act} leave={leave}>
      <p>{admin.revokeMeans}</p>
      {me.value?.keyId === id && <p class="n-full">{admin.revokeOwn}</p>}
    </FormDialog>
  );
}

/** Asks what the key is for, then shows it, which nothing can do again. */
function MakeKey({ changed, leave }: DialogProps) {
  const made = useSignal<CreatedKey | null>(null);
  const name = useSignal("");
  const role = useSignal("viewer");
  const act = async (form: FormData) => {
    if (made.value !== null) return true;
    made.value = await post("/api/keys", keyOf(filled(form)));
    changed.value++;
    return false;
  };
  if (made.value !== null) {
    const { key, name: of } = made.value;
    return (
      <FormDialog key="made" title={admin.keyMade(of)} button={null} leave={leave}>
        <p>{admin.keyOnce}</p>
        <code class="secret">{key}</code>
        <Copy text={() => key} label={admin.copyKey} />
      </FormDialog>
    );
  }
  return (
    <FormDialog title={admin.newKey} button={admin.make(name.value.trim())} act={act} leave={leave}>
      <label>
        {admin.name}
        <input
          name="name"
          required
          maxLength={100}
          autocomplete="off"
          onInput={({ currentTarget }) => {
            name.value = currentTarget.value;
          }}
        />
      </label>
      <label>
        {admin.role}
        <select
          name="role"
          value={role.value}
          onChange={({ currentTarget }) => {
            role.value = currentTarget.value;
          }}
        >
          {ROLES.map((each) => (
            <option key={each} value={each}>
              {admin.roles[each]}
            </option>
          ))}
        </select>
      </label>
      {role.value === "viewer" && (
        <label class="tick">
          <input type="checkbox" name="pseudonyms" />
          {admin.pseudonyms}
        </label>
      )}
      <label>
        {admin.expiresOn}
        <input type="date" name="expires" />
      </label>
      <details>
        <summary>{admin.limits}</summary>
        {LIMITS.map((limit) => (
          <label key={limit}>
            {admin.limitNames[limit]}
            <input type="number" name={limit} min={1} step={1} />
          </label>
        ))}
      </details>
    </FormDialog>
  );
}
