local _, node, lease = unpack(ARGV)
-- Leases are renewed many at once: one that is damaged is lost by itself.
local damaged = redis.pcall('HMGET', SESSION, 'n')
if damaged.err then return 0 end
if find() ~= node then return 0 end
local left = redis.call('PTTL', LEASE)
if left < 0 then
  redis.call('SET', LEASE, node, 'PX', lease)
elseif left < tonumber(lease) then
  redis.call('PEXPIRE', LEASE, lease)
end
put_off(lease)
return 1
