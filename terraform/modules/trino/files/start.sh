mkdir -p /etc/trino/catalog
printf '%s' "$CONFIG" > /etc/trino/config.properties
printf '%s' "$CATALOG" > /etc/trino/catalog/lake.properties
printf 'node.environment=cloud\nnode.data-dir=/data/trino\n' > /etc/trino/node.properties
printf -- '-server\n-XX:MaxRAMPercentage=75\n-XX:+ExitOnOutOfMemoryError\n-Djdk.attach.allowAttachSelf=true\n' > /etc/trino/jvm.config
exec $LAUNCH
