#!/usr/bin/env python3
# mypy: ignore-errors
"""Replays a corpus of recorded Kubernetes API conversations against any API server and compares.

Standard library only.  See oracle/SCHEMA-api.md for the format and for what must match.

  api_player.py --server https://127.0.0.1:6443 --token T --ca ca.crt corpus.jsonl[.gz] ...
            [--only REGEX on id or tag] [--jobs 4] [--fail-dir DIR|--report out.json]
            [--strict-text] [--no-managed-fields] [--max-diffs 3] [-v]
Exit code 0 when every conversation matched.
"""
import argparse, collections, concurrent.futures, copy, datetime, gzip, http.client, json, os, random, re, ssl, sys, threading, time
from urllib.parse import urlsplit

UUID = re.compile(r'[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}')
TS = re.compile(r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$')
MTS = re.compile(r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$')
AGE = re.compile(r'^(\d+(ms|[smhdy]))+$')
TPL = re.compile(r'\{\{([a-zA-Z]+)(?::([A-Za-z0-9_.-]+))?\}\}')
UA = 'oracle/1'


# ---------------------------------------------------------------- templates
class Vars:
    """Values that requests refer to: {{ns}} and, per step named with "as", {{rv:x}} {{uid:x}} {{name:x}} {{continue:x}} {{token:x}}."""
    def __init__(self, ns):
        self.ns, self.v, self.objs = ns, {'ns': ns}, {}

    def learn(self, label, obj):
        self.objs[label] = obj
        if not isinstance(obj, dict):
            return
        m = obj.get('metadata') or {}
        for k, val in (('rv', m.get('resourceVersion')), ('uid', m.get('uid')), ('name', m.get('name')),
                       ('continue', m.get('continue')), ('token', (obj.get('status') or {}).get('token') if isinstance(obj.get('status'), dict) else None),
                       ('created', m.get('creationTimestamp'))):
            if val:
                self.v['%s:%s' % (k, label)] = val

    def text(self, s):
        def f(m):
            key = m.group(1) if m.group(2) is None else m.group(1) + ':' + m.group(2)
            return self.v.get(key, 'UNRESOLVED-' + key.replace(':', '-'))
        return TPL.sub(f, s)

    def val(self, x):
        if isinstance(x, str):
            return self.text(x)
        if isinstance(x, list):
            return [self.val(i) for i in x]
        if isinstance(x, dict):
            return {self.text(k): self.val(i) for k, i in x.items()}
        return x


def pointer(path):
    return [p.replace('~1', '/').replace('~0', '~') for p in path.split('/')[1:]]


def edit(obj, ops):
    """ops: ["set", pointer, value] | ["del", pointer] | ["add", pointer-to-list, value]; missing parents are made by set; del of a missing member is ignored."""
    for op in ops:
        parts, cur = pointer(op[1]), obj
        for p in parts[:-1]:
            if isinstance(cur, list):
                cur = cur[int(p)]
            else:
                if not isinstance(cur.get(p), (dict, list)):
                    cur[p] = {}
                cur = cur[p]
        k = parts[-1]
        if op[0] == 'set':
            if isinstance(cur, list):
                cur[int(k)] = op[2]
            else:
                cur[k] = op[2]
        elif op[0] == 'del':
            if isinstance(cur, list):
                if int(k) < len(cur):
                    del cur[int(k)]
            else:
                cur.pop(k, None)
        elif op[0] == 'add':
            if isinstance(cur, list):
                cur[int(k)].append(op[2])
            else:
                cur.setdefault(k, []).append(op[2])
    return obj


# ---------------------------------------------------------------- transport
class Client:
    def __init__(self, server, token, ca=None):
        u = urlsplit(server)
        self.host, self.port, self.tls, self.token = u.hostname, u.port or (443 if u.scheme == 'https' else 80), u.scheme == 'https', token
        if self.tls:
            self.ctx = ssl.create_default_context(cafile=ca) if ca else ssl._create_unverified_context()
            self.ctx.check_hostname = False
        self.local = threading.local()

    def fresh(self, timeout):
        return (http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=self.ctx) if self.tls
                else http.client.HTTPConnection(self.host, self.port, timeout=timeout))

    def send(self, method, path, headers, body, timeout=65):
        """returns (status, headers, bytes)"""
        for attempt in (0, 1):
            c = getattr(self.local, 'c', None)
            reused = c is not None
            if c is None:
                c = self.local.c = self.fresh(timeout)
            try:
                c.request(method, path, body=body, headers=headers)
                r = c.getresponse()
                data = r.read()
                if r.will_close:
                    c.close(); self.local.c = None
                return r.status, r.headers, data
            except (http.client.HTTPException, OSError):
                c.close(); self.local.c = None
                if not reused or attempt:
                    raise

    def stream(self, method, path, headers, body, seconds):
        """opens a watch; returns (status, headers, Stream)"""
        c = self.fresh(seconds)
        c.request(method, path, body=body, headers=headers)
        r = c.getresponse()
        return r.status, r.headers, Stream(c, r, seconds)


class Stream(threading.Thread):
    def __init__(self, c, r, seconds):
        super().__init__(daemon=True)
        self.c, self.r, self.deadline, self.lines, self.err = c, r, time.time() + seconds, [], None
        self.start()

    def run(self):
        try:
            buf = b''
            while time.time() < self.deadline:
                chunk = self.r.read1(65536)
                if not chunk:
                    break
                buf += chunk
            self.lines = [l for l in buf.split(b'\n') if l.strip()]
        except (OSError, http.client.HTTPException) as e:
            self.err = str(e)
            self.lines = [l for l in buf.split(b'\n') if l.strip()]
        finally:
            self.c.close()


# ---------------------------------------------------------------- one step
def build(step, vs, client):
    q = step['request']
    path = vs.text(q['path'])
    h = {'User-Agent': UA, 'Accept': 'application/json'}
    auth = vs.text(q.get('auth', 'admin'))
    if auth == 'admin':
        h['Authorization'] = 'Bearer ' + client.token
    elif auth != 'none':
        h['Authorization'] = 'Bearer ' + auth
    body = None
    if 'bodyFrom' in q:
        o = copy.deepcopy(vs.objs.get(q['bodyFrom']) or {})
        if 'edit' in q:
            try:
                edit(o, vs.val(q['edit']))
            except (KeyError, IndexError, TypeError, ValueError, AttributeError):
                pass
        body = json.dumps(o).encode()
    elif 'body' in q:
        body = json.dumps(vs.val(q['body'])).encode()
    elif 'rawBody' in q:
        body = vs.text(q['rawBody']).encode()
    if body is not None:
        h['Content-Type'] = 'application/json'
    for k, v in q.get('headers', {}).items():
        if v is None:
            h.pop(k, None)
        else:
            h[k] = vs.text(v)
    return q['method'], path, h, body


def warnings(headers):
    out = []
    for w in headers.get_all('Warning') or []:
        out += [m.group(1).replace('\\"', '"') for m in re.finditer(r'299 \S+ "((?:[^"\\]|\\.)*)"', w)]
    return out


def parse(data, ct):
    if 'json' in (ct or '') or data[:1] in b'{[':
        try:
            return json.loads(data)
        except ValueError:
            pass
    return data.decode('utf-8', 'replace')


def raw_response(status, headers, data):
    ct = headers.get('Content-Type') or ''
    r = {'status': status, 'contentType': re.sub(r';\s*charset=[^;]*', '', ct), 'body': parse(data, ct)}
    w = warnings(headers)
    if w:
        r['warnings'] = w
    if headers.get('Allow'):
        r['allow'] = headers.get('Allow')
    return r


def dig(obj, path):
    for p in pointer(path):
        if isinstance(obj, list):
            obj = obj[int(p)] if p.isdigit() and int(p) < len(obj) else None
        elif isinstance(obj, dict):
            obj = obj.get(p)
        else:
            return None
    return obj


def run_step(step, vs, client, streams):
    """performs one step and returns the raw response dict (status, contentType, body | events, warnings)"""
    if 'sleep' in step:
        time.sleep(step['sleep'])
    if 'collect' in step:
        st, r = streams.pop(step['collect'])
        st.join()
        return finish_stream(st, r)
    method, path, h, body = build(step, vs, client)
    if 'stream' in step:
        s = step['stream']
        status, headers, st = client.stream(method, path, h, body, s.get('seconds', 20))
        r = {'status': status, 'contentType': re.sub(r';\s*charset=[^;]*', '', headers.get('Content-Type') or '')}
        if 'background' in s:
            streams[s['background']] = (st, r)
            return {'status': status}
        st.join()
        return finish_stream(st, r)
    deadline = time.time() + step.get('until', {}).get('seconds', 10)
    while True:
        r = raw_response(*client.send(method, path, h, body))
        u = step.get('until')
        if not u or time.time() > deadline:
            break
        if r['status'] == u.get('status', 200) and all(dig(r['body'], p) == v for p, v in u.get('values', {}).items()):
            break
        time.sleep(0.1)
    if 'as' in step and r['status'] < 300:
        vs.learn(step['as'], r['body'])
    return r


def finish_stream(st, r):
    ev = []
    for l in st.lines:
        try:
            ev.append(json.loads(l))
        except ValueError:
            ev.append({'type': 'UNPARSABLE', 'object': l.decode('utf-8', 'replace')})
    if r['status'] != 200:
        r['body'] = parse(b'\n'.join(st.lines), r['contentType'])
    else:
        r['events'] = ev
    return r


# ---------------------------------------------------------------- reduction: what is thrown away before comparing
def walk_meta(x, f):
    if isinstance(x, dict):
        m = x.get('metadata')
        if isinstance(m, dict):
            f(m)
        for v in x.values():
            walk_meta(v, f)
    elif isinstance(x, list):
        for v in x:
            walk_meta(v, f)


def keep_only(body, keep):
    """keep: {"list": pointer, "key": name, "in": [...]}: reduces a list to the members of interest, sorted by key (discovery documents)"""
    l = dig(body, keep['list'])
    if isinstance(l, list):
        l[:] = sorted((i for i in l if isinstance(i, dict) and i.get(keep['key']) in keep['in']), key=lambda i: i[keep['key']])
        for i in l:
            for d in keep.get('drop', ()):
                i.pop(d, None)
    for d in keep.get('dropTop', ()):
        if isinstance(body, dict):
            body.pop(d, None)


def shape(x):
    if isinstance(x, dict):
        return {k: shape(v) for k, v in x.items()}
    if isinstance(x, list):
        return [shape(x[0])] if x else []
    return '<%s>' % type(x).__name__


def reduce_response(r, step, ns, managed):
    """raw response -> comparable response; ns is turned back into {{ns}}; managedFields dropped unless asked for; plain bookmarks dropped"""
    r = copy.deepcopy(r)
    def back(x):
        if isinstance(x, str):
            return x.replace(ns, '{{ns}}')
        if isinstance(x, list):
            return [back(i) for i in x]
        if isinstance(x, dict):
            return {k.replace(ns, '{{ns}}'): back(v) for k, v in x.items()}
        return x
    r = back(r)
    if not managed:
        walk_meta(r.get('body'), lambda m: m.pop('managedFields', None))
        walk_meta(r.get('events'), lambda m: m.pop('managedFields', None))
    if 'events' in r:
        r['events'] = [e for e in r['events'] if e.get('type') != 'BOOKMARK' or
                       (dig(e, '/object/metadata/annotations') or {}).get('k8s.io/initial-events-end') == 'true']
    if step.get('initial') and 'events' in r:          # the initial ADDED events come in no particular order
        n = next((i for i, e in enumerate(r['events']) if e.get('type') != 'ADDED'), len(r['events']))
        r['events'][:n] = sorted(r['events'][:n], key=lambda e: str((dig(e, '/object/metadata/namespace'), dig(e, '/object/metadata/name'), dig(e, '/object/rows/0/object/metadata/name'))))
    if 'keep' in step and isinstance(r.get('body'), dict):
        keep_only(r['body'], step['keep'])
    if step.get('shape') and isinstance(r.get('body'), dict):
        r['body'] = shape(r['body'])
    return r


# ---------------------------------------------------------------- comparison
class Binding:
    """placeholder <-> actual value, one to one within a conversation"""
    def __init__(self):
        self.fwd, self.rev = {}, {}

    def match(self, kind, ph, val):
        if ph in self.fwd:
            return None if self.fwd[ph] == val else '%s was %s before, now %s' % (ph, self.fwd[ph], val)
        o = self.rev.get((kind, val))
        if o is not None:
            return 'value %s expected to be new (%s) but equals %s' % (val, ph, o)
        self.fwd[ph] = val
        self.rev[(kind, val)] = ph
        return None


PH = re.compile(r'<(uid|gen):\d+>')


def cmp_str(e, a, b, path, out):
    if e == a:
        if PH.search(e) is None and not e.startswith('<'):
            return
    if not isinstance(a, str):
        out.append('%s: expected %r, got %r' % (path, e, a)); return
    if e.startswith('<rv:') and e.endswith('>'):
        if not re.match(r'^[1-9]\d*$', a):
            out.append('%s: not a resourceVersion: %r' % (path, a)); return
        m = b.match('rv', e, a)
        if m:
            out.append('%s: %s' % (path, m))
        return
    if e == '<listrv>':
        if not re.match(r'^[1-9]\d*$', a):
            out.append('%s: not a resourceVersion: %r' % (path, a))
        return
    if e in ('<continue>', '<token>'):
        if not a:
            out.append('%s: empty, expected %s' % (path, e))
        return
    if e == '<time>':
        if not TS.match(a):
            out.append('%s: not a second-resolution RFC 3339 UTC time: %r' % (path, a))
        return
    if e == '<microtime>':
        if not MTS.match(a):
            out.append('%s: not a microsecond RFC 3339 UTC time: %r' % (path, a))
        return
    if e == '<age>':
        if not AGE.match(a):
            out.append('%s: not an age: %r' % (path, a))
        return
    if PH.search(e):
        rx, names, pos = '', [], 0
        for m in PH.finditer(e):
            rx += re.escape(e[pos:m.start()]) + ('(' + UUID.pattern + ')' if m.group(1) == 'uid' else '([a-z0-9]{5})')
            names.append(m.group(0)); pos = m.end()
        rx += re.escape(e[pos:])
        mm = re.match('^' + rx + '$', a, re.S)
        if not mm:
            out.append('%s: expected like %r, got %r' % (path, e, a)); return
        for n, v in zip(names, mm.groups()):
            r = b.match(n[1:4], n, v)
            if r:
                out.append('%s: %s' % (path, r))
        return
    if e != a:
        out.append('%s: expected %r, got %r' % (path, e, a))


def cmp_json(e, a, b, path, out, opt):
    if isinstance(e, dict) and e.get('kind') == 'Status' and isinstance(a, dict) and 'status' in e and e.get('status') == 'Failure':
        return cmp_status(e, a, b, path, out, opt)
    if isinstance(e, dict) and e.get('kind') == 'Table' and isinstance(a, dict):
        e, a = copy.deepcopy(e), copy.deepcopy(a)
        for t in (e, a):
            for c in t.get('columnDefinitions') or []:
                if not opt.strict_text:
                    c.pop('description', None)
    if isinstance(e, dict):
        if not isinstance(a, dict):
            out.append('%s: expected an object, got %r' % (path, a)); return
        for k in sorted(set(e) | set(a)):
            p = path + '/' + k
            if k not in a:
                out.append('%s: missing, expected %s' % (p, json.dumps(e[k])[:200]))
            elif k not in e:
                out.append('%s: unexpected %s' % (p, json.dumps(a[k])[:200]))
            elif k == 'finalizers' and isinstance(e[k], list) and isinstance(a[k], list) and set(e[k]) & {'orphan', 'foregroundDeletion'}:
                if sorted(map(str, e[k])) != sorted(map(str, a[k])):     # the server adds these two in no particular order
                    out.append('%s: expected (any order) %r, got %r' % (p, e[k], a[k]))
            elif k == 'managedFields':
                cmp_managed(e[k], a[k], b, p, out, opt)
            else:
                cmp_json(e[k], a[k], b, p, out, opt)
    elif isinstance(e, list):
        if not isinstance(a, list):
            out.append('%s: expected a list, got %r' % (path, a)); return
        if len(e) != len(a):
            out.append('%s: expected %d elements, got %d' % (path, len(e), len(a)))
        for i, (x, y) in enumerate(zip(e, a)):
            cmp_json(x, y, b, '%s/%d' % (path, i), out, opt)
    elif isinstance(e, str):
        cmp_str(e, a, b, path, out)
    elif type(e) is not type(a) and not (isinstance(e, (int, float)) and isinstance(a, (int, float)) and not isinstance(e, bool) and not isinstance(a, bool)) or e != a:
        out.append('%s: expected %r, got %r' % (path, e, a))


def cmp_managed(e, a, b, path, out, opt):
    if opt.no_managed_fields:
        return
    key = lambda m: (m.get('operation', ''), m.get('manager', ''), m.get('subresource', ''), m.get('apiVersion', ''))
    try:
        e, a = sorted(e, key=key), sorted(a, key=key)
    except (TypeError, AttributeError):
        out.append('%s: malformed %r' % (path, a)); return
    if [key(x) for x in e] != [key(x) for x in a]:
        out.append('%s: expected entries %r, got %r' % (path, [key(x) for x in e], [key(x) for x in a])); return
    for x, y in zip(e, a):
        cmp_json(x, y, b, '%s[%s]' % (path, '/'.join(key(x))), out, opt)


def cmp_status(e, a, b, path, out, opt):
    for k in ('kind', 'apiVersion', 'status', 'reason', 'code'):
        if e.get(k) != a.get(k):
            out.append('%s/%s: expected %r, got %r' % (path, k, e.get(k), a.get(k)))
    if bool((e.get('metadata') or {}).get('continue')) != bool((a.get('metadata') or {}).get('continue')):
        out.append('%s/metadata/continue: expected %r, got %r' % (path, (e.get('metadata') or {}).get('continue'), (a.get('metadata') or {}).get('continue')))
    ed, ad = e.get('details') or {}, a.get('details') or {}
    for k in ('name', 'group', 'kind', 'uid', 'retryAfterSeconds'):
        if k in ed or k in ad:
            if isinstance(ed.get(k), str):
                cmp_str(ed[k], ad.get(k), b, path + '/details/' + k, out)
            elif ed.get(k) != ad.get(k):
                out.append('%s/details/%s: expected %r, got %r' % (path, k, ed.get(k), ad.get(k)))
    c = lambda d: collections.Counter((x.get('reason'), x.get('field')) for x in d.get('causes') or [])
    ce, ca = c(ed), c(ad)
    if ce != ca:
        out.append('%s/details/causes: missing %s, unexpected %s' % (path, sorted((ce - ca).elements(), key=str), sorted((ca - ce).elements(), key=str)))
    if opt.strict_text and e.get('message') != a.get('message'):
        cmp_str(e.get('message') or '', a.get('message') or '', b, path + '/message', out)


def compare(expect, actual, b, opt):
    out = []
    if expect['status'] == 500 and 400 <= actual['status'] < 500:
        return out  # the recorded server fails on some bad input; a clear refusal is better
    if expect['status'] != actual['status']:
        msg = actual.get('body') if isinstance(actual.get('body'), str) else (actual.get('body') or {}).get('message') if isinstance(actual.get('body'), dict) else ''
        out.append('HTTP status: expected %s, got %s %s' % (expect['status'], actual['status'], (msg or '')[:300]))
        return out
    if 'contentType' in expect and expect['contentType'] != actual.get('contentType'):
        out.append('content type: expected %r, got %r' % (expect['contentType'], actual.get('contentType')))
    if 'contentType' in expect:
        we, wa = expect.get('warnings', []), actual.get('warnings', [])
        if len(we) != len(wa) or (opt.strict_text and sorted(we) != sorted(wa)):
            out.append('warnings: expected %r, got %r' % (we, wa))
    if 'body' in expect:
        if isinstance(expect['body'], str):
            if (opt.strict_text or expect['status'] == 200) and expect['body'] != actual.get('body'):
                out.append('text: expected %r, got %r' % (expect['body'], actual.get('body')))
        else:
            cmp_json(expect['body'], actual.get('body'), b, '', out, opt)
    if 'events' in expect:
        ea, aa = expect['events'], actual.get('events', [])
        sig = lambda l: ['%s %s' % (x.get('type'), dig(x, '/object/metadata/name')) for x in l]
        if len(ea) != len(aa) or [x['type'] for x in ea] != [x.get('type') for x in aa]:
            out.append('events: expected %s, got %s' % (sig(ea), sig(aa)))
        else:
            for i, (x, y) in enumerate(zip(ea, aa)):
                cmp_json(x, y, b, '/events/%d' % i, out, opt)
    return out


def new_ns():
    return 'q' + ''.join(random.choice('bcdfghjklmnpqrstvwxz2456789') for _ in range(8)) + 'z'


def play(conv, client, opt):
    ns = new_ns()
    vs, streams, b, fails = Vars(ns), {}, Binding(), []
    for i, step in enumerate(conv['steps']):
        try:
            r = run_step(step, vs, client, streams)
            r = reduce_response(r, step, ns, conv.get('managedFields', False))
            d = compare(step['expect'], r, b, opt) if step.get('compare') != 'none' else []
        except Exception as e:
            r, d = None, ['exception: %s: %s' % (type(e).__name__, e)]
        if d:
            fails.append({'step': i, 'request': step.get('request'), 'diffs': d, 'actual': r, 'expect': step.get('expect')})
    return fails


def load(files):
    for f in files:
        with (gzip.open(f, 'rt') if f.endswith('.gz') else open(f)) as fh:
            for line in fh:
                if line.strip():
                    yield json.loads(line)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--server', required=True); p.add_argument('--token', default=os.environ.get('TOKEN', '')); p.add_argument('--ca')
    p.add_argument('--only'); p.add_argument('--jobs', type=int, default=4); p.add_argument('--report'); p.add_argument('--max-diffs', type=int, default=3)
    p.add_argument('--strict-text', action='store_true'); p.add_argument('--no-managed-fields', action='store_true'); p.add_argument('-v', action='store_true')
    p.add_argument('corpus', nargs='+')
    opt = p.parse_args()
    convs = list(load(opt.corpus))
    if opt.only:
        rx = re.compile(opt.only)
        convs = [c for c in convs if rx.search(c['id']) or any(rx.search(t) for t in c['tags'])]
    client = Client(opt.server, opt.token, opt.ca)
    t0, res = time.time(), {}
    lock = threading.Lock()
    def one(c):
        f = play(c, client, opt)
        with lock:
            res[c['id']] = f
            if f or opt.v:
                print('%s %s' % ('FAIL' if f else 'ok  ', c['id']), flush=True)
                for x in f[:opt.max_diffs]:
                    q = x['request'] or {}
                    print('   step %d %s %s' % (x['step'], q.get('method', ''), q.get('path', '')))
                    for d in x['diffs'][:opt.max_diffs]:
                        print('      ' + d)
    with concurrent.futures.ThreadPoolExecutor(opt.jobs) as ex:
        list(ex.map(one, [c for c in convs if not c.get('exclusive')]))
    for c in convs:
        if c.get('exclusive'):
            one(c)
    tags = collections.defaultdict(lambda: [0, 0, 0, 0])
    for c in convs:
        for t in c['tags'][:1]:
            tags[t][0] += 1; tags[t][1] += not res[c['id']]; tags[t][2] += len(c['steps']); tags[t][3] += len(c['steps']) - len(res[c['id']])
    print('%-24s %14s %14s' % ('topic', 'conversations', 'steps'))
    for t, (n, ok, s, sok) in sorted(tags.items()):
        print('%-24s %6d/%-7d %6d/%-7d' % (t, ok, n, sok, s))
    ns_, nok = len(convs), sum(not res[c['id']] for c in convs)
    st = sum(len(c['steps']) for c in convs)
    print('%-24s %6d/%-7d %6d/%-7d  %.1f s' % ('TOTAL', nok, ns_, st - sum(len(f) for f in res.values()), st, time.time() - t0))
    if opt.report:
        json.dump({k: v for k, v in res.items() if v}, open(opt.report, 'w'), indent=1)
    sys.exit(0 if nok == ns_ else 1)


if __name__ == '__main__':
    main()
