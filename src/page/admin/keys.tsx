import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { CreatedKey, Key, SignInRecord } from "../../domain/keys.ts";
import { ROLES } from "../../domain/words.ts";
import { post } from "../api.ts";
import { duration, moment } from "../format.ts";
import { now } from "../live/live.ts";
import { may, me } from "../me.ts";
import { Copy } from "../parts/copy-link.tsx";
import { FormDialog } from "../parts/dialog.tsx";
import { State } from "../parts/marks.tsx";
import { ActionTable, ConfirmKey, changed, EndDialog } from "./action-table.tsx";
import { keyOf } from "./forms.ts";
import { admin } from "./words.ts";

const MARKS = { active: "ok", expired: "stale", revoked: "unknown" } as const;
const ORDER = Object.keys(MARKS);
/** More than exist in practice; the API's default limit is 100. */
const ALL = { limit: "1000" };

/** Lists all keys, without their secrets. */
export function Keys() {
  const [isMaking, setMaking] = useState(false);
  return (
    <>
      <ActionTable
        title={admin.keys}
        path="/api/keys"
        query={ALL}
        aside={
          <button class="btn s end" type="button" onClick={() => setMaking(true)}>
            {admin.newKey}
          </button>
        }
        rows={({ keys }) => [...keys].sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state))}
        columns={[
          { head: admin.name, by: ({ name }) => name, cell: ({ name }) => <bdi>{name}</bdi> },
          {
            head: admin.role,
            by: roleOf,
            cell: roleOf,
          },
          {
            head: admin.state,
            wide: true,
            by: ({ state }) => admin.states[state],
            cell: ({ state }) => <State is={MARKS[state]}>{admin.states[state]}</State>,
          },
          {
            head: admin.lastUsed,
            wide: true,
            by: ({ lastUsedAt }) => lastUsedAt,
            cell: ({ lastUsedAt }) => <When at={lastUsedAt} isAge />,
          },
          {
            head: admin.expires,
            wide: true,
            by: ({ expiresAt }) => expiresAt,
            cell: ({ expiresAt }) => <When at={expiresAt} />,
          },
          {
            head: admin.made,
            wide: true,
            by: ({ createdAt }) => createdAt,
            cell: ({ createdAt }) => <When at={createdAt} />,
          },
        ]}
        word={admin.revoke}
        target={({ name }) => name}
        instead={({ state }) => state === "revoked" && admin.states.revoked}
        dialog={({ id, name }, leave) => (
          <EndDialog
            path={`/api/keys/${id}`}
            does={admin.revokeThis(name)}
            done={admin.revoked(name)}
            means={admin.revokeMeans}
            leave={leave}
          >
            {me.value?.keyId === id && <p class="n-warn">{admin.revokeOwn}</p>}
            <ConfirmKey />
          </EndDialog>
        )}
      />
      {isMaking && <MakeKey leave={() => setMaking(false)} />}
    </>
  );
}

const roleOf = ({ role, anonymize }: Key) => (anonymize ? `${role}, ${admin.withPseudonyms}` : role);

const targetOf = ({ keyName, browser }: SignInRecord) => `${keyName}, ${admin.browserOf(browser)}`;

/** Lists signed-in browsers: the viewer's own, or all for admins. */
export function SignIns() {
  return (
    <ActionTable
      title={may("keys") ? admin.signIns : admin.yourSignIns}
      path="/api/signins"
      query={ALL}
      rows={({ signins }) => signins}
      columns={[
        { head: admin.key, by: ({ keyName }) => keyName, cell: ({ keyName }) => <bdi>{keyName}</bdi> },
        {
          head: admin.browser,
          by: ({ browser }) => admin.browserOf(browser),
          cell: ({ browser }) => admin.browserOf(browser),
        },
        { head: admin.role, wide: true, by: ({ role }) => role, cell: ({ role }) => role },
        {
          head: admin.lastUsed,
          wide: true,
          by: ({ lastUsedAt }) => lastUsedAt,
          cell: ({ lastUsedAt }) => <When at={lastUsedAt} isAge />,
        },
        {
          head: admin.ends,
          wide: true,
          by: ({ expiresAt }) => expiresAt,
          cell: ({ expiresAt }) => <When at={expiresAt} />,
        },
      ]}
      word={admin.end}
      target={targetOf}
      instead={({ current }) => current && admin.thisBrowser}
      dialog={(signIn, leave) => {
        const target = targetOf(signIn);
        return (
          <EndDialog
            path={`/api/signins/${signIn.id}`}
            does={admin.endThis(target)}
            done={admin.ended(target)}
            means={admin.endMeans}
            leave={leave}
          />
        );
      }}
    />
  );
}

/** Shows a moment or its age; "never" for null. */
function When(props: { readonly at: string | null; readonly isAge?: boolean }): ComponentChildren {
  const { at, isAge = false } = props;
  if (at === null) return <span class="q">{admin.never}</span>;
  return isAge ? admin.ago(duration(now.value - Date.parse(at))) : moment(Date.parse(at), now.value);
}

/** Asks for the purpose of a key, creates it, and shows it once. */
function MakeKey({ leave }: { readonly leave: () => void }) {
  const [made, setMade] = useState<CreatedKey | null>(null);
  const [name, setName] = useState("");
  const [role, setRole] = useState("viewer");
  const act = async (form: FormData) => {
    setMade(await post("/api/keys", keyOf(form)));
    changed.value++;
    return false;
  };
  if (made !== null) {
    const { key, name: of } = made;
    return (
      <FormDialog key="made" title={admin.keyMade(of)} button={null} leave={leave}>
        <p>{admin.keyOnce}</p>
        <code class="secret">{key}</code>
        <Copy text={() => key} label={admin.copyKey} />
      </FormDialog>
    );
  }
  return (
    <FormDialog title={admin.newKey} button={admin.make(name.trim())} act={act} leave={leave}>
      <label>
        {admin.name}
        <input
          name="name"
          required
          maxLength={100}
          autocomplete="off"
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
      </label>
      <label>
        {admin.role}
        <select name="role" value={role} onChange={({ currentTarget }) => setRole(currentTarget.value)}>
          {ROLES.filter((each) => each !== "site").map((each) => (
            <option key={each} value={each}>
              {admin.roles[each]}
            </option>
          ))}
        </select>
      </label>
      {role === "viewer" && (
        <label class="tick">
          <input type="checkbox" name="pseudonyms" />
          {admin.pseudonyms}
        </label>
      )}
      <label>
        {admin.expiresOn}
        <input type="date" name="expires" />
      </label>
      <ConfirmKey />
    </FormDialog>
  );
}
