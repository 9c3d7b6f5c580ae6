# The catalog that Trino reads instead of a file metastore. A schema of Trino is a database of Glue, which an account has
# once per region: so one instance per account and region.

resource "aws_glue_catalog_database" "this" {
  for_each = var.schemas

  name         = each.key
  description  = "${var.name}: ${each.value}"
  location_uri = "s3://${aws_s3_bucket.this["lake"].id}/${local.root}/${each.key}"
}
