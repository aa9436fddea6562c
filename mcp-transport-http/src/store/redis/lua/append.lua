-- ARGV: principal, node, version, room, resume, how many events; stream, number, bytes of each; the streams that have ended.
local _, node, version, room, resume, count = unpack(ARGV, 1, 6)
if not held(node, version) then return 0 end
redis.call('HSET', SESSION, 'd', 1)
begin()
drop_ended(tonumber(resume))

local function append(stream, number, framed)
  local t = track(stream) or {before = 0, last = 0, ended = 0}
  if t.ended > 0 or number <= t.last then return end
  if number == 1 then
    t.before = 1
  else
    if number ~= t.last + 1 then
      drop_events(stream, t, 0)
      t.before = number - 1
    end
    redis.call('HSET', EVENTS, name(stream, number), framed)
    redis.call('ZADD', ORDER, place, name(stream, number))
    place = place + 1
    bytes = bytes + #framed + OVERHEAD
  end
  t.last = number
  put(stream, t)
  make_room(tonumber(room))
end

local at = 7
for _ = 1, tonumber(count) do
  append(ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2])
  at = at + 3
end
for i = at, #ARGV do
  local stream = ARGV[i]
  local t = track(stream)
  if t and t.before == t.last then
    drop_track(stream)
  elseif t and t.ended == 0 then
    t.ended = now()
    put(stream, t)
    redis.call('ZADD', ENDED, text(t.ended), stream)
  end
end
finish()
return 1
